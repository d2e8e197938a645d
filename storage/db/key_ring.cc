// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/key_ring.h"

#include <mutex>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/reasons.h"

namespace ruvd {

void KeyRing::Set(uint64_t id, KeyRecord record) {
  const std::unique_lock lock(mutex_);
  if (record.state == KeyRecord::State::kActive) {
    active_[record.scope] = id;
  } else if (const auto active = active_.find(record.scope);
             active != active_.end() && active->second == id) {
    active_.erase(active);
  }
  records_.insert_or_assign(id, std::move(record));
}

void KeyRing::Remove(uint64_t id) {
  const std::unique_lock lock(mutex_);
  const auto found = records_.find(id);
  if (found == records_.end()) {
    return;
  }
  if (const auto active = active_.find(found->second.scope);
      active != active_.end() && active->second == id) {
    active_.erase(active);
  }
  records_.erase(found);
}

std::optional<KeyRing::Held> KeyRing::Active(std::string_view scope) const {
  const std::shared_lock lock(mutex_);
  const auto active = active_.find(scope);
  if (active == active_.end()) {
    return std::nullopt;
  }
  return Held{active->second, *records_.at(active->second).key};
}

absl::StatusOr<DataKey> KeyRing::Find(uint64_t id) const {
  const std::shared_lock lock(mutex_);
  const auto found = records_.find(id);
  if (found == records_.end()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kSealBroken,
                 "the store has no data key {}; restore it from a backup", id);
  }
  if (!found->second.key) {
    return Error(
        absl::StatusCode::kNotFound, reasons::kKeyDestroyed,
        "the value was erased: the data key of {} was destroyed; nothing can bring it back",
        found->second.scope);
  }
  return *found->second.key;
}

bool KeyRing::IsDestroyed(uint64_t id) const {
  const std::shared_lock lock(mutex_);
  const auto found = records_.find(id);
  return found != records_.end() && !found->second.key;
}

std::vector<std::pair<uint64_t, KeyRecord>> KeyRing::List(std::string_view scope) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::pair<uint64_t, KeyRecord>> list;
  for (const auto& [id, record] : records_) {
    if (scope.empty() || record.scope == scope) {
      list.emplace_back(id, record);
    }
  }
  return list;
}

uint64_t KeyRing::NextId() const {
  const std::shared_lock lock(mutex_);
  return records_.empty() ? 1 : records_.rbegin()->first + 1;
}

size_t KeyRing::size() const {
  const std::shared_lock lock(mutex_);
  return records_.size();
}

std::string ScopeName(const KeyScope& scope, std::string_view family_name) {
  return scope.name().empty() ? "family/" + std::string(family_name) : scope.name();
}

}  // namespace ruvd
