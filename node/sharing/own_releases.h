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

// The contributors to the contributions, verdicts and experts that this node offers, kept across
// restarts. Not thread-safe.
class OwnReleases {
 public:
  // If `store` is null, nothing is kept across restarts.
  explicit OwnReleases(storage::ReleaseSourceStore* store) : store_(store) {}

  // Reads what was recorded before the start. Returns the errors of ReleaseSourceStore::All.
  absl::Status Load();
  // Records a release on disk. Returns the errors of ReleaseSourceStore::Put; then nothing is
  // recorded.
  absl::Status Record(storage::ReleaseSources sources);
  // Forgets all releases except `live`. If deleting from disk fails, they are forgotten after the
  // next start.
  void RetainOnly(const std::set<Digest>& live);
  void Forget(std::span<const Digest> items);

  // Returns the sources of an item, or nullptr if they are unknown.
  const storage::ReleaseSources* Find(const Digest& item) const;
  std::vector<Digest> ItemsWhere(
      const std::function<bool(const storage::ReleaseSources&)>& which) const;
  const std::map<Digest, storage::ReleaseSources>& all() const { return releases_; }

 private:
  storage::ReleaseSourceStore* const store_;
  std::map<Digest, storage::ReleaseSources> releases_;
};

}  // namespace ruvd::sharing
