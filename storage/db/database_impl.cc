// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Writing: admission, sealing, the log, fsync.

#include "storage/db/database_impl.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <variant>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::storage {
namespace {

struct Totals {
  uint64_t bytes = 0;
  bool bulk = false;
  bool puts = false;  // whether anything is put
};

// Returns the size of a batch, or the reason why it is too large.
absl::StatusOr<Totals> Measure(const Database::Impl::Changes& changes) {
  Totals totals;
  for (const auto& change : changes) {
    const size_t value_bytes = change.plaintext ? change.plaintext->size() : 0;
    const size_t key_bytes = std::max(change.key.size(), change.range_end.size());
    if (key_bytes > limits::kMaxRowKeyBytes || value_bytes > limits::kMaxRowValueBytes ||
        change.scope.name().size() > limits::kMaxScopeNameBytes) {
      return Error(
          absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
          "a row of {} has a key of {} bytes, a value of {} and a scope of {}, but the limits "
          "are {}, {} and {}; store less in one row",
          InfoOf(change.family).name, key_bytes, value_bytes, change.scope.name().size(),
          limits::kMaxRowKeyBytes, limits::kMaxRowValueBytes, limits::kMaxScopeNameBytes);
    }
    totals.bytes += key_bytes + value_bytes + kStoredValueOverheadBytes;
    totals.puts = totals.puts || change.plaintext.has_value();
    totals.bulk = totals.bulk || (change.plaintext && InfoOf(change.family).stops_at_soft_reserve);
  }
  if (totals.bytes > limits::kMaxBatchBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a batch of {} bytes exceeds the limit of {}; write it in parts", totals.bytes,
                 limits::kMaxBatchBytes);
  }
  return totals;
}

}  // namespace

Database::Impl::Impl(DatabaseOptions options)
    : options_(std::move(options)),
      reserve_({.path = options_.path,
                .soft_bytes = options_.soft_reserve_bytes,
                .hard_bytes = options_.hard_reserve_bytes,
                .probe = options_.free_bytes,
                .clock = options_.clock}),
      sync_([this] { return SyncLog(/*clean=*/false); }),
      node_key_(options_.seal_key) {}

Database::Impl::~Impl() {
  (void)Close();
}

privacy::SealKey Database::Impl::node_key() const {
  const MutexLock lock(node_key_mutex_);
  return node_key_;
}

absl::Status Database::Impl::Write(const Changes& changes, bool frees_space,
                                   Durability durability) {
  ASSIGN_OR_RETURN(const Totals totals, Measure(changes));
  // On a full disk deletions are what brings space back, and they only write their keys.
  std::optional<SpaceClaim> space;
  if (totals.puts || !frees_space) {
    ASSIGN_OR_RETURN(SpaceClaim claim, Admit(totals.bytes, totals.bulk && !frees_space));
    space.emplace(std::move(claim));
  }
  {
    const std::shared_lock gate(key_gate_);
    rocksdb::WriteBatch batch(totals.bytes);
    RETURN_IF_ERROR(Seal(changes, &batch));
    RETURN_IF_ERROR(Commit(&batch));
  }
  return durability == Durability::kPowerLoss ? sync_.Sync() : absl::OkStatus();
}

absl::Status Database::Impl::Seal(const Changes& changes, rocksdb::WriteBatch* batch) {
  for (const Batch::Change& change : changes) {
    rocksdb::ColumnFamilyHandle* family = handle(change.family);
    rocksdb::Status status;
    if (change.plaintext) {
      ASSIGN_OR_RETURN(const KeyRing::Held key, KeyOf(change));
      status = batch->Put(family, change.key,
                          EncodeStoredValue(key, change.family, change.key, kSchemaVersion,
                                            change.generation, *change.plaintext));
    } else if (!change.range_end.empty()) {
      status = batch->DeleteRange(family, change.key, change.range_end);
    } else {
      status = batch->Delete(family, change.key);
    }
    RETURN_IF_ERROR(db::FromRocks(status, "building a batch"));
  }
  return absl::OkStatus();
}

absl::StatusOr<KeyRing::Held> Database::Impl::KeyOf(const Batch::Change& change) {
  RUVD_CHECK(change.family != ColumnFamily::kKey);
  if (!change.scope.name().empty()) {
    return ActiveOrNewKey(change.scope.name());
  }
  static const auto* const kNames = [] {
    auto* names = new std::array<std::string, kColumnFamilies.size()>;
    for (const ColumnFamilyInfo& info : kColumnFamilies) {
      (*names)[static_cast<size_t>(info.family)] = ScopeName({}, info.name);
    }
    return names;
  }();
  return ActiveOrNewKey((*kNames)[static_cast<size_t>(change.family)]);
}

absl::StatusOr<OpenedValue> Database::Impl::Decode(ColumnFamily family, std::string_view key,
                                                   std::string_view stored,
                                                   std::optional<uint32_t> expected_generation,
                                                   const KeyRing::View& keys) const {
  if (stored.empty() || static_cast<uint8_t>(stored.front()) != kNodeSealedFormat) {
    return DecodeStoredValue(nullptr, &keys, family, key, stored, expected_generation);
  }
  const privacy::SealKey current = node_key();
  return DecodeStoredValue(&current, nullptr, family, key, stored, expected_generation);
}

bool Database::Impl::IsErased(ColumnFamily family, std::string_view key, std::string_view stored,
                              const KeyRing::View& keys) {
  const auto header = DecodeStoredHeader(family, key, stored);
  return header.ok() && header->key_id != 0 && keys.IsDestroyed(header->key_id);
}

absl::Status Database::Impl::CheckNotFailed() const {
  if (!latch_->failed()) {
    return absl::OkStatus();
  }
  const absl::Status failed = latch_->status();
  if (ReasonOf(failed) == reasons::kDiskFull) {
    return failed;
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kStoreReadOnly,
               "the store refuses writes after an earlier failure ({}); restart the node",
               MessageOf(failed));
}

absl::StatusOr<SpaceClaim> Database::Impl::Admit(uint64_t bytes, bool bulk) {
  RETURN_IF_ERROR(CheckNotFailed());
  DiskReserve::Answer answer =
      reserve_.Claim(bytes, bulk ? ReserveLevel::kEnough : ReserveLevel::kBelowSoft);
  if (auto* claim = std::get_if<SpaceClaim>(&answer)) {
    return std::move(*claim);
  }
  if (std::get<ReserveLevel>(answer) == ReserveLevel::kBelowHard) {
    return BelowHardReserve();
  }
  return Error(absl::StatusCode::kResourceExhausted, reasons::kDiskFull,
               "{} bytes free at {}, below the soft reserve of {}: patterns are refused until "
               "disk space is freed",
               reserve_.free_bytes(), options_.path, options_.soft_reserve_bytes);
}

absl::Status Database::Impl::BelowHardReserve() const {
  return Error(absl::StatusCode::kResourceExhausted, reasons::kStoreReadOnly,
               "{} bytes free at {}, below the hard reserve of {}: the store is read-only until "
               "disk space is freed",
               reserve_.free_bytes(), options_.path, options_.hard_reserve_bytes);
}

absl::Status Database::Impl::CheckSpace(uint64_t bytes) {
  RETURN_IF_ERROR(CheckNotFailed());
  if (reserve_.LevelFor(0) == ReserveLevel::kBelowHard) {
    return BelowHardReserve();
  }
  if (reserve_.LevelFor(bytes) != ReserveLevel::kBelowHard) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kResourceExhausted, reasons::kDiskFull,
               "{} bytes free at {}, too few for {} bytes above the hard reserve of {}: free disk "
               "space",
               reserve_.free_bytes(), options_.path, bytes, options_.hard_reserve_bytes);
}

// RocksDB writes concurrent batches as one group. Its result alone is not sufficient: see
// guarded_files.h.
absl::Status Database::Impl::Commit(rocksdb::WriteBatch* batch) {
  RETURN_IF_ERROR(CheckNotFailed());
  const absl::Status status = db::FromRocks(db_->Write(rocksdb::WriteOptions(), batch), "a write");
  if (!status.ok()) {
    latch_->Fail(status);
  }
  return CheckNotFailed();
}

absl::Status Database::Impl::CommitAndSync(rocksdb::WriteBatch* batch) {
  RETURN_IF_ERROR(Commit(batch));
  return sync_.Sync();
}

absl::Status Database::Impl::SyncLog(bool clean) {
  RETURN_IF_ERROR(CheckNotFailed());
  const uint64_t sequence = db_->GetLatestSequenceNumber();
  absl::Status status = db::FromRocks(db_->SyncWAL(), "syncing the log");
  // The mark follows the log: it must never name a change that may still be lost.
  if (status.ok() && !latch_->failed()) {
    status = WriteMark(sequence, clean);
  }
  if (!status.ok()) {
    latch_->Fail(status);
  }
  return CheckNotFailed();
}

absl::Status Database::Impl::WriteMark(uint64_t sequence, bool clean) {
  if (high_water_ == nullptr) {
    return absl::OkStatus();
  }
  if (!mark_settled_) {
    if (!mark_) {
      return absl::OkStatus();  // the mark is damaged, and the next open must find it so
    }
    // Missing changes stay missing, whatever is written before the mark is settled.
    sequence += recovery_.missing();
  }
  // An fsync of the mark for every write would double the cost of a write.
  const TimePoint now = options_.clock->Now();
  const bool sync = clean || now - mark_synced_at_ >= limits::kHighWaterSyncInterval;
  RETURN_IF_ERROR(high_water_->Write(sequence, clean, sync));
  mark_synced_at_ = sync ? now : mark_synced_at_;
  return absl::OkStatus();
}

StoreHealth Database::Impl::Health() {
  if (latch_->failed()) {
    return StoreHealth::kFailed;
  }
  switch (reserve_.LevelFor(0)) {
    case ReserveLevel::kBelowHard:
      return StoreHealth::kReadOnly;
    case ReserveLevel::kBelowSoft:
      return StoreHealth::kPatternsStopped;
    case ReserveLevel::kEnough:
      return recovery_.loss() ? StoreHealth::kRecoveredWithLoss : StoreHealth::kOk;
  }
  return StoreHealth::kFailed;
}

absl::Status Database::Impl::Flush() {
  RETURN_IF_ERROR(Admit(0, /*bulk=*/false).status());
  const absl::Status status =
      db::FromRocks(db_->Flush(rocksdb::FlushOptions(), handles_), "flushing memtables");
  if (!status.ok()) {
    latch_->Fail(status);
  }
  return CheckNotFailed();
}

absl::Status Database::Impl::Close() {
  if (db_ == nullptr) {
    return absl::OkStatus();
  }
  const absl::Status synced =
      latch_->failed() || high_water_ == nullptr ? absl::OkStatus() : SyncLog(/*clean=*/true);
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  handles_.clear();
  const absl::Status closed = db::FromRocks(db_->Close(), "closing");
  db_.reset();
  high_water_.reset();
  lock_.reset();
  return synced.ok() ? closed : synced;
}

}  // namespace ruvd::storage
