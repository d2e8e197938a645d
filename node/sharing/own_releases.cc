// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/own_releases.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/log/log.h"

namespace ruvd::sharing {

absl::Status OwnReleases::Load() {
  if (store_ == nullptr) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::vector<storage::ReleaseSources> stored, store_->All());
  for (storage::ReleaseSources& sources : stored) {
    const Digest item = sources.item;
    releases_[item] = std::move(sources);
  }
  return absl::OkStatus();
}

absl::Status OwnReleases::Record(storage::ReleaseSources sources) {
  if (store_ != nullptr) {
    RETURN_IF_ERROR(store_->Put(sources));
  }
  const Digest item = sources.item;
  releases_[item] = std::move(sources);
  return absl::OkStatus();
}

void OwnReleases::RetainOnly(const std::set<Digest>& live) {
  Forget(ItemsWhere(
      [&live](const storage::ReleaseSources& sources) { return !live.contains(sources.item); }));
}

void OwnReleases::Forget(std::span<const Digest> items) {
  for (const Digest& item : items) {
    releases_.erase(item);
  }
  if (store_ != nullptr) {
    if (const absl::Status deleted = store_->Delete(items); !deleted.ok()) {
      LogWarning("the contributors of {} item(s) could not be deleted: {}", items.size(),
                 MessageOf(deleted));
    }
  }
}

const storage::ReleaseSources* OwnReleases::Find(const Digest& item) const {
  const auto found = releases_.find(item);
  return found == releases_.end() ? nullptr : &found->second;
}

std::vector<Digest> OwnReleases::ItemsWhere(
    const std::function<bool(const storage::ReleaseSources&)>& which) const {
  std::vector<Digest> items;
  for (const auto& [item, sources] : releases_) {
    if (which(sources)) {
      items.push_back(item);
    }
  }
  return items;
}

}  // namespace ruvd::sharing
