// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/key_ring.h"

#include <algorithm>
#include <mutex>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/reasons.h"

namespace ruvd::storage {

void KeyRing::Set(uint64_t id, KeyRecord record) {
  const std::unique_lock lock(mutex_);
  if (record.state == KeyRecord::State::kActive) {
    active_[record.scope] = id;
  } else if (const auto active = active_.find(record.scope);
             active != active_.end() && active->second == id) {
    active_.erase(active);
  }
  if (record.state == KeyRecord::State::kRetired) {
    retired_.insert(id);
  } else {
    retired_.erase(id);
  }
  records_.insert_or_assign(id, std::move(record));
  next_id_ = std::max(next_id_, id + 1);
}

void KeyRing::Remove(std::span<const uint64_t> ids) {
  const std::unique_lock lock(mutex_);
  for (const uint64_t id : ids) {
    auto record = records_.extract(id);
    if (record.empty()) {
      continue;
    }
    if (const auto active = active_.find(record.mapped().scope);
        active != active_.end() && active->second == id) {
      active_.erase(active);
    }
    retired_.erase(id);
    epoch_->removed.insert(std::move(record));
  }
  epoch_->next = std::make_shared<Epoch>();
  epoch_ = epoch_->next;
}

std::optional<KeyRing::Held> KeyRing::Active(std::string_view scope) const {
  const std::shared_lock lock(mutex_);
  const auto active = active_.find(scope);
  if (active == active_.end()) {
    return std::nullopt;
  }
  return Held{active->second, *records_.at(active->second).key};
}

KeyRing::View KeyRing::Hold() const {
  const std::shared_lock lock(mutex_);
  return {*this, epoch_};
}

const KeyRecord* KeyRing::FindRecord(uint64_t id, const Epoch& since) const {
  if (const auto found = records_.find(id); found != records_.end()) {
    return &found->second;
  }
  for (const Epoch* epoch = &since; epoch != nullptr; epoch = epoch->next.get()) {
    if (const auto found = epoch->removed.find(id); found != epoch->removed.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

absl::StatusOr<privacy::DataKey> KeyRing::View::Find(uint64_t id) const {
  const std::shared_lock lock(ring_->mutex_);
  const KeyRecord* record = ring_->FindRecord(id, *epoch_);
  if (record == nullptr) {
    return Error(absl::StatusCode::kDataLoss, reasons::kSealBroken,
                 "the store has no data key {}; restore it from a backup", id);
  }
  if (!record->key) {
    return Error(
        absl::StatusCode::kNotFound, reasons::kKeyDestroyed,
        "the value was erased: the data key of {} was destroyed; nothing can bring it back",
        record->scope);
  }
  return *record->key;
}

bool KeyRing::View::IsDestroyed(uint64_t id) const {
  const std::shared_lock lock(ring_->mutex_);
  const KeyRecord* record = ring_->FindRecord(id, *epoch_);
  return record != nullptr && !record->key;
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

std::vector<std::pair<uint64_t, KeyRecord>> KeyRing::Retired() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::pair<uint64_t, KeyRecord>> list;
  list.reserve(retired_.size());
  for (const uint64_t id : retired_) {
    list.emplace_back(id, records_.at(id));
  }
  return list;
}

uint64_t KeyRing::NextId() const {
  const std::shared_lock lock(mutex_);
  return next_id_;
}

size_t KeyRing::size() const {
  const std::shared_lock lock(mutex_);
  return records_.size();
}

size_t KeyRing::in_use() const {
  const std::shared_lock lock(mutex_);
  return records_.size() - retired_.size();
}

std::string ScopeName(const KeyScope& scope, std::string_view family_name) {
  return scope.name().empty() ? "family/" + std::string(family_name) : scope.name();
}

}  // namespace ruvd::storage
