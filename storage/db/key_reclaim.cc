// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// This file removes users' data keys that seal nothing any more. A walk over all rows finds the
// keys in use, and every key that seals a value meanwhile is recorded.

#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/status.h"
#include "storage/db/database_impl.h"

namespace ruvd::storage {
namespace {

// The rows of one step; they take a few milliseconds.
constexpr size_t kRowsOfAStep = 2048;
constexpr size_t kBytesOfAStep = 8 << 20;

using Rows = std::vector<std::pair<uint64_t, KeyRecord>>;

// ResealStep handles retired keys.
bool MayLeave(const KeyRecord& record, int64_t created_before_ms) {
  return IsUserScope(record.scope) && record.state != KeyRecord::State::kRetired &&
         record.created_ms < created_before_ms;
}

}  // namespace

void Database::Impl::RecordKeyUse(uint64_t key_id) {
  if (noting_uses_.load()) {
    const MutexLock lock(uses_mutex_);
    used_.insert(key_id);
  }
}

absl::Status Database::Impl::EnsureKey(const std::string& scope) {
  RUVD_CHECK(!scope.empty());
  const std::shared_lock gate(key_gate_);
  if (ring_.Active(scope)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const SpaceClaim space, Admit(limits::kMaxScopeNameBytes, /*bulk=*/false));
  return ActiveOrNewKey(scope).status();
}

absl::StatusOr<bool> Database::Impl::BeginReclaim() {
  const TimePoint now = options_.clock->Now();
  const bool scarce = ring_.size() >= options_.max_user_keys / 2;
  const Duration interval =
      scarce ? Duration(limits::kScarceKeyReclaimInterval) : Duration(limits::kKeyReclaimInterval);
  if (!reclaimed_at_ && !scarce) {
    reclaimed_at_ = now;  // nothing is urgent at start
  }
  if (reclaimed_at_ && now - *reclaimed_at_ < interval) {
    return false;
  }
  reclaimed_at_ = now;
  const int64_t age_ms = std::chrono::milliseconds(limits::kKeyReclaimAge).count();
  Reclaim walk;
  for (const auto& [id, record] : ring_.List("")) {
    if (MayLeave(record, options_.clock->WallMillis() - age_ms)) {
      walk.unused.insert(id);
    }
  }
  if (walk.unused.empty()) {
    return false;
  }
  // Writes that chose their keys earlier end before the walk begins; later ones are recorded.
  const std::unique_lock gate(key_gate_);
  noting_uses_.store(true);
  reclaim_ = std::move(walk);
  return true;
}

absl::Status Database::Impl::CountUses() {
  Reclaim& walk = *reclaim_;
  size_t rows_seen = 0;
  size_t bytes_seen = 0;
  for (; !walk.finished(); ++walk.family, walk.key.clear()) {
    const ColumnFamily family = kColumnFamilies[walk.family].family;
    if (family == ColumnFamily::kKey) {
      continue;
    }
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    const std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator(read, handle(family)));
    for (rows->Seek(walk.key); rows->Valid(); rows->Next()) {
      const std::string_view key = ViewOf(rows->key());
      if (rows_seen++ >= kRowsOfAStep || bytes_seen >= kBytesOfAStep) {
        walk.key = key;
        return absl::OkStatus();
      }
      bytes_seen += rows->value().size();
      if (const auto header = DecodeStoredHeader(family, key, ViewOf(rows->value())); header.ok()) {
        walk.unused.erase(header->key_id);
      }
      if (walk.finished()) {
        return absl::OkStatus();
      }
    }
    RETURN_IF_ERROR(db::FromRocks(rows->status(), "counting the uses of data keys"));
  }
  return absl::OkStatus();
}

absl::Status Database::Impl::EndReclaim() {
  const std::set<uint64_t> unused = std::move(reclaim_->unused);
  reclaim_.reset();
  Rows rows;
  {
    // No write that chose one of these keys is under way, and none can begin.
    const std::unique_lock gate(key_gate_);
    noting_uses_.store(false);
    const MutexLock lock(uses_mutex_);
    for (auto& [id, record] : ring_.List("")) {
      if (unused.contains(id) && !used_.contains(id) &&
          record.state != KeyRecord::State::kRetired) {
        rows.emplace_back(id, std::move(record));
      }
    }
    used_.clear();
    if (rows.empty()) {
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(RemoveKeyRowsLocked(rows));
  }
  return ForgetWrappedKeys();
}

void Database::Impl::GiveUpReclaim() {
  reclaim_.reset();
  noting_uses_.store(false);
  const MutexLock lock(uses_mutex_);
  used_.clear();
}

absl::StatusOr<bool> Database::Impl::ReclaimKeysStep() {
  const MutexLock maintenance(maintenance_);
  if (!reclaim_) {
    ASSIGN_OR_RETURN(const bool begun, BeginReclaim());
    if (!begun) {
      return false;
    }
  }
  if (const absl::Status counted = CountUses(); !counted.ok()) {
    // When a row cannot be read, the key that seals it is unknown: no key is removed, and the next
    // walk comes after the usual interval.
    GiveUpReclaim();
    return counted;
  }
  if (!reclaim_->finished()) {
    return true;
  }
  RETURN_IF_ERROR(EndReclaim());
  return false;
}

}  // namespace ruvd::storage
