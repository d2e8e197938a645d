// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "storage/consent/release_source_store.h"
#include "storage/patterns/pattern.h"

namespace ruvd::sharing {

// What the updates and noised centroids were made of that this node offers, also after a restart.
// Not thread-safe.
class OwnReleases {
 public:
  // `store` may be null: then nothing outlives this.
  explicit OwnReleases(storage::ReleaseSourceStore* store) : store_(store) {}

  // Reads what an earlier life of the node noted. The errors of ReleaseSourceStore::All.
  absl::Status Load();
  // Notes a release, durably. The errors of ReleaseSourceStore::Put: then nothing is noted.
  absl::Status Note(storage::ReleaseSources sources);
  // Forgets all but `live`; what the disk does not forget is forgotten after the next start.
  void KeepOnly(const std::set<Digest>& live);
  void Forget(std::span<const Digest> items);

  // nullptr: nobody knows.
  const storage::ReleaseSources* Find(const Digest& item) const;
  // The newest update, which names patterns; noised centroids name none. nullptr: there is none.
  const storage::ReleaseSources* NewestUpdate() const;
  std::vector<Digest> Where(const std::function<bool(const storage::ReleaseSources&)>& which) const;
  const std::map<Digest, storage::ReleaseSources>& all() const { return releases_; }

 private:
  storage::ReleaseSourceStore* const store_;
  std::map<Digest, storage::ReleaseSources> releases_;
};

}  // namespace ruvd::sharing
