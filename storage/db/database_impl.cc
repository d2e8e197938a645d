// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/database_impl.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"
#include "ruvd/storage/v1/storage.pb.h"
#include "storage/db/stored_value.h"

namespace ruvd {
namespace {

constexpr char kSchemaKey[] = "schema";
constexpr char kNodeKey[] = "node";
constexpr char kModelKey[] = "model";
constexpr size_t kStoreIdBytes = 16;

// Ours in the order of the enumeration, then those that only a newer program knows: RocksDB must
// open all that exist.
std::vector<rocksdb::ColumnFamilyDescriptor> Descriptors(const rocksdb::DBOptions& options,
                                                         const std::string& path) {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const ColumnFamilyInfo& info : kColumnFamilies) {
    descriptors.emplace_back(std::string(info.name), db::MakeFamilyOptions(info.large_values));
  }
  std::vector<std::string> existing;  // stays empty for a new store
  rocksdb::DB::ListColumnFamilies(options, path, &existing).PermitUncheckedError();
  for (const std::string& name : existing) {
    const bool known = std::any_of(kColumnFamilies.begin(), kColumnFamilies.end(),
                                   [&](const ColumnFamilyInfo& info) { return info.name == name; });
    if (!known) {
      descriptors.emplace_back(name, db::MakeFamilyOptions(false));
    }
  }
  return descriptors;
}

}  // namespace

Database::Impl::Impl(DatabaseOptions options)
    : options_(std::move(options)),
      reserve_({.path = options_.path,
                .soft_bytes = options_.soft_reserve_bytes,
                .hard_bytes = options_.hard_reserve_bytes,
                .probe = options_.free_bytes,
                .clock = options_.clock}) {}

Database::Impl::~Impl() {
  (void)Close();
}

absl::StatusOr<std::unique_ptr<Database::Impl>> Database::Impl::Open(DatabaseOptions options) {
  std::unique_ptr<Impl> impl(new Impl(std::move(options)));
  RETURN_IF_ERROR(db::CreateStoreFolder(impl->options_.path));
  ASSIGN_OR_RETURN(impl->lock_, db::FolderLock::Acquire(impl->options_.path));
  RETURN_IF_ERROR(impl->OpenRocks());
  return impl;
}

absl::Status Database::Impl::OpenRocks() {
  const rocksdb::DBOptions options = db::MakeDbOptions(latch_);
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(
      options, options_.path, Descriptors(options, options_.path), &handles_, &raw);
  db_.reset(raw);
  return db::FromRocks(status, "opening");
}

absl::Status Database::Impl::CheckSchema() {
  std::string stored;
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), kSchemaKey, &stored);
  if (status.IsNotFound()) {
    return WriteSchemaOfNewStore();
  }
  RETURN_IF_ERROR(db::FromRocks(status, "reading the schema"));
  storage::v1::SchemaInfo schema;
  if (!schema.ParseFromString(stored) || schema.version() == 0) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the schema row of the store in {} is damaged; restore it from a backup",
                 options_.path);
  }
  if (schema.min_reader() > kSchemaVersion) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kSchemaTooNew,
                 "the store in {} has schema {} and needs a ruvd of schema {} or newer, this one "
                 "has {}; upgrade ruvd or choose another data folder",
                 options_.path, schema.version(), schema.min_reader(), kSchemaVersion);
  }
  return absl::OkStatus();
}

absl::Status Database::Impl::WriteSchemaOfNewStore() {
  for (const ColumnFamilyInfo& info : kColumnFamilies) {
    std::unique_ptr<rocksdb::Iterator> rows(
        db_->NewIterator(rocksdb::ReadOptions(), handle(info.family)));
    rows->SeekToFirst();
    if (rows->Valid()) {
      return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                   "the store in {} has rows in {} but no schema row; restore it from a backup",
                   options_.path, info.name);
    }
    RETURN_IF_ERROR(db::FromRocks(rows->status(), "opening"));
  }
  storage::v1::SchemaInfo schema;
  schema.set_version(kSchemaVersion);
  schema.set_min_reader(kSchemaMinReader);
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(
      db::FromRocks(batch.Put(kSchemaKey, schema.SerializeAsString()), "writing the schema"));
  RETURN_IF_ERROR(Admit(batch.GetDataSize(), /*bulk=*/false));
  return Apply(&batch, batch.GetDataSize(), Durability::kPowerLoss);
}

absl::StatusOr<std::string> Database::Impl::GetOrCreateFixedRow(std::string_view key,
                                                                std::string_view initial) {
  std::string stored;
  const rocksdb::Slice slice(key.data(), key.size());
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), slice, &stored);
  if (status.ok()) {
    ASSIGN_OR_RETURN(OpenedValue value, DecodeStoredValue(options_.seal_key, ColumnFamily::kDefault,
                                                          key, stored, /*generation*/ 0));
    return std::move(value.plaintext);
  }
  if (!status.IsNotFound()) {
    return db::FromRocks(status, "opening");
  }
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(db::FromRocks(
      batch.Put(slice, EncodeStoredValue(options_.seal_key, ColumnFamily::kDefault, key,
                                         kSchemaVersion, /*generation=*/0, initial)),
      "opening"));
  RETURN_IF_ERROR(Admit(batch.GetDataSize(), /*bulk=*/false));
  RETURN_IF_ERROR(Apply(&batch, batch.GetDataSize(), Durability::kPowerLoss));
  return std::string(initial);
}

absl::Status Database::Impl::CheckSealKey() {
  std::array<uint8_t, kStoreIdBytes> id;
  SecureRandomBytes(id);
  absl::StatusOr<std::string> row = GetOrCreateFixedRow(kNodeKey, AsText(id));
  if (!row.ok() && ReasonOf(row.status()) == reasons::kSealBroken) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kSealBroken,
                 "the store in {} does not open with this seal key; restore the key file it was "
                 "made with, or choose another data folder",
                 options_.path);
  }
  return row.status();
}

absl::Status Database::Impl::CheckModel() {
  if (!options_.model_hash) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string bound,
                   GetOrCreateFixedRow(kModelKey, AsText(*options_.model_hash)));
  if (bound != AsText(*options_.model_hash)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kStoreForOtherModel,
                 "the store in {} belongs to model {}, not {}; serve that model or choose another "
                 "data folder",
                 options_.path, ToHex(AsBytes(bound)), ToHex(*options_.model_hash));
  }
  return absl::OkStatus();
}

absl::Status Database::Impl::CheckNotFailed() const {
  if (absl::Status failed = latch_->status(); !failed.ok()) {
    if (ReasonOf(failed) == reasons::kDiskFull) {
      return failed;
    }
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kStoreReadOnly,
                 "the store refuses writes after an earlier failure ({}); restart the node",
                 MessageOf(failed));
  }
  return absl::OkStatus();
}

absl::Status Database::Impl::Admit(uint64_t bytes, bool bulk) {
  RETURN_IF_ERROR(CheckNotFailed());
  const ReserveLevel level = reserve_.LevelFor(bytes);
  if (level == ReserveLevel::kBelowHard) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kStoreReadOnly,
                 "{} bytes free at {}, below the hard reserve of {}: the store is read-only until "
                 "disk space is freed",
                 reserve_.free_bytes(), options_.path, options_.hard_reserve_bytes);
  }
  if (level == ReserveLevel::kBelowSoft && bulk) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kDiskFull,
                 "{} bytes free at {}, below the soft reserve of {}: patterns are refused until "
                 "disk space is freed",
                 reserve_.free_bytes(), options_.path, options_.soft_reserve_bytes);
  }
  return absl::OkStatus();
}

absl::Status Database::Impl::Apply(rocksdb::WriteBatch* batch, uint64_t bytes,
                                   Durability durability) {
  rocksdb::WriteOptions write;
  write.sync = durability == Durability::kPowerLoss;
  const MutexLock lock(write_mutex_);
  RETURN_IF_ERROR(CheckNotFailed());  // again: another writer may have failed meanwhile
  const absl::Status status = db::FromRocks(db_->Write(write, batch), "a write");
  if (!status.ok()) {
    latch_->Fail(status);
    return status;
  }
  reserve_.Wrote(bytes);
  return absl::OkStatus();
}

StoreHealth Database::Impl::Health() {
  if (!latch_->status().ok()) {
    return StoreHealth::kFailed;
  }
  switch (reserve_.LevelFor(0)) {
    case ReserveLevel::kBelowHard:
      return StoreHealth::kReadOnly;
    case ReserveLevel::kBelowSoft:
      return StoreHealth::kPatternsStopped;
    case ReserveLevel::kEnough:
      return StoreHealth::kOk;
  }
  return StoreHealth::kFailed;
}

absl::Status Database::Impl::Flush() {
  RETURN_IF_ERROR(Admit(0, /*bulk=*/false));
  const std::vector<rocksdb::ColumnFamilyHandle*> all(handles_.begin(), handles_.end());
  const MutexLock lock(write_mutex_);
  const absl::Status status =
      db::FromRocks(db_->Flush(rocksdb::FlushOptions(), all), "flushing memtables");
  if (!status.ok()) {
    latch_->Fail(status);
  }
  return status;
}

absl::Status Database::Impl::Close() {
  if (db_ == nullptr) {
    return absl::OkStatus();
  }
  // After a failure the log must not be touched again: RocksDB 7.8 may abort on it.
  absl::Status status;
  if (latch_->status().ok()) {
    status = db::FromRocks(db_->SyncWAL(), "closing");
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  handles_.clear();
  const absl::Status closed = db::FromRocks(db_->Close(), "closing");
  db_.reset();
  lock_.reset();
  return status.ok() ? closed : status;
}

}  // namespace ruvd
