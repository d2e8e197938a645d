// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// This file makes, replaces and destroys data keys, and replaces the node's key.

#include <algorithm>
#include <mutex>
#include <utility>
#include <variant>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"
#include "storage/db/database_impl.h"

namespace ruvd::storage {
namespace {

constexpr char kResealSweep[] = "reseal";
constexpr char kEraseSweep[] = "erase";

using Rows = std::vector<std::pair<uint64_t, KeyRecord>>;

}  // namespace

absl::Status Database::Impl::PutKeyRow(uint64_t id, const KeyRecord& record,
                                       rocksdb::WriteBatch* batch) const {
  const std::string key = KeyRowKey(id);
  std::string plaintext = EncodeKeyRecord(record);
  const std::string stored = EncodeStoredValue(node_key(), ColumnFamily::kKey, key, kSchemaVersion,
                                               /*generation=*/0, plaintext);
  privacy::SecureWipe({reinterpret_cast<uint8_t*>(plaintext.data()), plaintext.size()});
  return db::FromRocks(batch->Put(handle(ColumnFamily::kKey), key, stored), "writing a data key");
}

absl::Status Database::Impl::PutForgetRow(const privacy::SealKey& node_key,
                                          rocksdb::WriteBatch* batch) const {
  return db::FromRocks(
      batch->Put(kForgetKeysRow, EncodeStoredValue(node_key, ColumnFamily::kDefault, kForgetKeysRow,
                                                   kSchemaVersion, /*generation=*/0, "")),
      "changing keys");
}

absl::Status Database::Impl::WriteKeyRows(const Rows& rows) {
  rocksdb::WriteBatch batch;
  bool destroys = false;
  for (const auto& [id, record] : rows) {
    RETURN_IF_ERROR(PutKeyRow(id, record, &batch));
    destroys = destroys || record.state == KeyRecord::State::kDestroyed;
  }
  if (destroys) {
    RETURN_IF_ERROR(PutForgetRow(node_key(), &batch));
  }
  // A later reseal or erase sweep has other rows to change, so it must begin anew.
  RETURN_IF_ERROR(db::FromRocks(batch.Delete(SweepCursorKey(kResealSweep)), "writing a data key"));
  RETURN_IF_ERROR(db::FromRocks(batch.Delete(SweepCursorKey(kEraseSweep)), "writing a data key"));
  ASSIGN_OR_RETURN(const SpaceClaim space, Admit(batch.GetDataSize(), /*bulk=*/false));
  RETURN_IF_ERROR(CommitAndSync(&batch));
  keys_to_forget_ = keys_to_forget_ || destroys;
  return absl::OkStatus();
}

std::optional<KeyRing::Held> Database::Impl::ActiveKey(const std::string& scope) {
  std::optional<KeyRing::Held> held = ring_.Active(scope);
  if (held) {
    RecordKeyUse(held->id);
  }
  return held;
}

absl::StatusOr<KeyRing::Held> Database::Impl::ActiveOrNewKey(const std::string& scope) {
  if (auto held = ActiveKey(scope)) {
    return *std::move(held);
  }
  const MutexLock lock(key_creation_);
  if (auto held = ActiveKey(scope)) {
    return *std::move(held);
  }
  const size_t most = IsUserScope(scope) ? options_.max_user_keys : limits::kMaxDataKeys;
  // Retired keys have a limit of their own and are removed by ResealStep.
  if (ring_.in_use() >= most) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the store has {} data keys, which is the limit, so {} cannot get one; keys of "
                 "users without rows are removed automatically, and `ruvd store erase --user` with "
                 "`ruvd store compact` removes the keys of former users",
                 ring_.in_use(), IsUserScope(scope) ? "a new user" : scope);
  }
  const uint64_t id = ring_.NextId();
  const KeyRecord record{.state = KeyRecord::State::kActive,
                         .created_ms = options_.clock->WallMillis(),
                         .scope = scope,
                         .key = privacy::DataKey::Generate()};
  // The row is fsynced, once in a scope's life: no value may outlive the row of its key.
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(PutKeyRow(id, record, &batch));
  RETURN_IF_ERROR(CommitAndSync(&batch));
  ring_.Set(id, record);
  return KeyRing::Held{id, *record.key};
}

absl::Status Database::Impl::ChangeSealKey(const privacy::SealKey& next) {
  const MutexLock maintenance(maintenance_);
  RETURN_IF_ERROR(WrapKeysWith(next));
  return ForgetWrappedKeys();
}

absl::Status Database::Impl::WrapKeysWith(const privacy::SealKey& next) {
  const std::unique_lock gate(key_gate_);
  rocksdb::WriteBatch batch;
  for (const ColumnFamily family : {ColumnFamily::kDefault, ColumnFamily::kKey}) {
    std::unique_ptr<rocksdb::Iterator> rows(
        db_->NewIterator(rocksdb::ReadOptions(), handle(family)));
    for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
      const std::string_view key = ViewOf(rows->key());
      const auto header = DecodeStoredHeader(family, key, ViewOf(rows->value()));
      if (!header.ok() || header->format != kNodeSealedFormat ||
          (family == ColumnFamily::kDefault && key == kFormatRow)) {
        continue;
      }
      ASSIGN_OR_RETURN(OpenedValue value, Decode(family, key, ViewOf(rows->value()), std::nullopt));
      const std::string stored =
          EncodeStoredValue(next, family, key, header->schema, header->generation, value.plaintext);
      privacy::SecureWipe(
          {reinterpret_cast<uint8_t*>(value.plaintext.data()), value.plaintext.size()});
      RETURN_IF_ERROR(
          db::FromRocks(batch.Put(handle(family), rows->key(), stored), "changing the seal key"));
    }
    RETURN_IF_ERROR(db::FromRocks(rows->status(), "changing the seal key"));
  }
  RETURN_IF_ERROR(PutForgetRow(next, &batch));
  ASSIGN_OR_RETURN(const SpaceClaim space, Admit(batch.GetDataSize(), /*bulk=*/false));
  RETURN_IF_ERROR(CommitAndSync(&batch));
  keys_to_forget_ = true;
  const MutexLock lock(node_key_mutex_);
  node_key_ = next;
  return absl::OkStatus();
}

absl::Status Database::Impl::RotateDataKeys(std::string_view scope) {
  const MutexLock maintenance(maintenance_);
  const std::unique_lock gate(key_gate_);
  Rows rows;
  uint64_t next_id = ring_.NextId();
  for (auto& [id, record] : ring_.List(scope)) {
    if (record.state != KeyRecord::State::kActive) {
      continue;
    }
    KeyRecord fresh{.state = KeyRecord::State::kActive,
                    .created_ms = options_.clock->WallMillis(),
                    .scope = record.scope,
                    .key = privacy::DataKey::Generate()};
    record.state = KeyRecord::State::kRetired;
    rows.emplace_back(id, std::move(record));
    rows.emplace_back(next_id++, std::move(fresh));
  }
  if (rows.empty() && !scope.empty()) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "the store has no data key for the scope {}; `ruvd store status` lists the scopes",
                 scope);
  }
  // half of the rows are new keys
  if (ring_.size() + rows.size() / 2 > limits::kMaxDataKeysInRotation) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the store has {} data keys, including retired ones, and the limit is {}: {} more "
                 "are too many; first let a running node or `ruvd store compact` seal the values "
                 "of the retired keys anew",
                 ring_.size(), limits::kMaxDataKeysInRotation, rows.size() / 2);
  }
  RETURN_IF_ERROR(WriteKeyRows(rows));
  for (auto& [id, record] : rows) {
    ring_.Set(id, std::move(record));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Database::Impl::ResealStep() {
  const MutexLock maintenance(maintenance_);
  if (keys_to_forget_) {
    RETURN_IF_ERROR(ForgetWrappedKeys());
  }
  const Rows retired = ring_.Retired();
  if (retired.empty()) {
    return false;
  }
  const RowSweep sweep{
      .name = kResealSweep,
      .judge = [&](ColumnFamily family, std::string_view key,
                   std::string_view stored) -> absl::StatusOr<RowSweep::Verdict> {
        const auto header = DecodeStoredHeader(family, key, stored);
        const auto old = std::ranges::lower_bound(retired, header.ok() ? header->key_id : 0, {},
                                                  &Rows::value_type::first);
        if (!header.ok() || old == retired.end() || old->first != header->key_id) {
          return RowSweep::Verdict{};
        }
        const auto value = Decode(family, key, stored, std::nullopt);
        const auto active = ActiveKey(old->second.scope);
        if (!value.ok() || !active) {
          return RowSweep::Verdict{};  // the value is damaged or was erased meanwhile
        }
        return RowSweep::Verdict{.action = RowSweep::Action::kReplace,
                                 .stored = EncodeStoredValue(*active, family, key, header->schema,
                                                             header->generation, value->plaintext)};
      }};
  ASSIGN_OR_RETURN(const bool more, SweepStep(sweep));
  if (more) {
    return true;
  }
  // The retired keys seal no value any more: retiring a key makes the sweep begin anew.
  RETURN_IF_ERROR(RemoveKeyRows(retired));
  RETURN_IF_ERROR(ForgetWrappedKeys());
  return false;
}

absl::Status Database::Impl::Destroy(std::string_view scope) {
  const std::unique_lock gate(key_gate_);
  Rows rows = ring_.List(scope);
  if (rows.empty()) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "the store has no data key for {}: it never had one, or the data was erased and "
                 "removed; `ruvd store status` lists the scopes it has",
                 scope);
  }
  std::erase_if(rows,
                [](const auto& row) { return row.second.state == KeyRecord::State::kDestroyed; });
  for (auto& [id, record] : rows) {
    record.state = KeyRecord::State::kDestroyed;
    record.key.reset();
  }
  if (!rows.empty()) {
    RETURN_IF_ERROR(WriteKeyRows(rows));
  }
  for (auto& [id, record] : rows) {
    ring_.Set(id, std::move(record));
  }
  return absl::OkStatus();
}

absl::Status Database::Impl::Erase(std::string_view scope, const Around& around) {
  const MutexLock maintenance(maintenance_);
  const auto destroy = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::Status {
    return Destroy(scope);  // maintenance_ is held for the whole of Erase
  };
  RETURN_IF_ERROR(around ? around(destroy) : destroy());
  // This also runs when the keys were destroyed before: that call may have been interrupted here.
  return ForgetWrappedKeys();
}

// Older versions of key rows are still in older tables and in the log; this removes both.
absl::Status Database::Impl::ForgetWrappedKeys() {
  RETURN_IF_ERROR(Flush());
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  RETURN_IF_ERROR(db::FromRocks(
      db_->CompactRange(options, handle(ColumnFamily::kKey), nullptr, nullptr), "compacting"));
  RETURN_IF_ERROR(CheckNotFailed());
  if (keys_to_forget_) {
    rocksdb::WriteBatch batch;
    RETURN_IF_ERROR(db::FromRocks(batch.Delete(kForgetKeysRow), "changing keys"));
    RETURN_IF_ERROR(Commit(&batch));
    keys_to_forget_ = false;
  }
  return absl::OkStatus();
}

// Deletes the rows of destroyed keys, then the records of those keys.
absl::Status Database::Impl::SweepErased() {
  Rows destroyed = ring_.List("");
  std::erase_if(destroyed,
                [](const auto& row) { return row.second.state != KeyRecord::State::kDestroyed; });
  if (destroyed.empty()) {
    return absl::OkStatus();
  }
  const RowSweep sweep{.name = kEraseSweep,
                       .judge = [keys = ring_.Hold()](ColumnFamily family, std::string_view key,
                                                      std::string_view stored) {
                         const bool erased = IsErased(family, key, stored, keys);
                         return RowSweep::Verdict{
                             .action = erased ? RowSweep::Action::kDelete : RowSweep::Action::kKeep,
                             .stored = {}};
                       }};
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, SweepStep(sweep));
  }
  RETURN_IF_ERROR(RemoveKeyRows(destroyed));
  return ForgetWrappedKeys();
}

absl::Status Database::Impl::RemoveKeyRows(const Rows& rows) {
  const std::unique_lock gate(key_gate_);
  return RemoveKeyRowsLocked(rows);
}

absl::Status Database::Impl::RemoveKeyRowsLocked(const Rows& rows) {
  rocksdb::WriteBatch batch;
  std::vector<uint64_t> ids;
  for (const auto& [id, record] : rows) {
    RETURN_IF_ERROR(db::FromRocks(batch.Delete(handle(ColumnFamily::kKey), KeyRowKey(id)),
                                  "removing a data key"));
    ids.push_back(id);
  }
  RETURN_IF_ERROR(PutForgetRow(node_key(), &batch));
  RETURN_IF_ERROR(CommitAndSync(&batch));
  keys_to_forget_ = true;
  ring_.Remove(ids);
  return absl::OkStatus();
}

// Compaction writes the new tables of a family before it removes the old ones, so it needs this
// space.
absl::StatusOr<SpaceClaim> Database::Impl::ClaimForRewriting(rocksdb::ColumnFamilyHandle* family) {
  uint64_t tables = 0;
  uint64_t blobs = 0;
  db_->GetIntProperty(family, rocksdb::DB::Properties::kLiveSstFilesSize, &tables);
  db_->GetIntProperty(family, rocksdb::DB::Properties::kLiveBlobFileSize, &blobs);
  const uint64_t bytes = tables + blobs;
  const bool enough = reserve_.LevelFor(bytes) != ReserveLevel::kBelowHard;
  const uint64_t free = reserve_.free_bytes();
  if (enough && bytes <= free) {
    DiskReserve::Answer answer = reserve_.Claim(bytes, ReserveLevel::kBelowSoft);
    if (auto* claim = std::get_if<SpaceClaim>(&answer)) {
      return std::move(*claim);
    }
  }
  return Error(absl::StatusCode::kResourceExhausted, reasons::kDiskFull,
               "compacting {} may need {} more bytes, but {} are free at {} and the "
               "hard reserve is {}; free space and compact again",
               family->GetName(), bytes, free, options_.path, options_.hard_reserve_bytes);
}

absl::Status Database::Impl::Compact() {
  const MutexLock maintenance(maintenance_);
  RETURN_IF_ERROR(SweepErased());
  RETURN_IF_ERROR(Flush());
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  options.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kForce;
  options.blob_garbage_collection_age_cutoff = 1.0;
  for (rocksdb::ColumnFamilyHandle* family : handles_) {
    ASSIGN_OR_RETURN(const SpaceClaim space, ClaimForRewriting(family));
    const absl::Status status =
        db::FromRocks(db_->CompactRange(options, family, nullptr, nullptr), "compacting");
    RETURN_IF_ERROR(status);
  }
  return CheckNotFailed();
}

}  // namespace ruvd::storage
