// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Opening a store: RocksDB, schema, keys, the high-water mark, the model.

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"
#include "ruvd/storage/v1/storage.pb.h"
#include "storage/db/database_impl.h"
#include "storage/db/guarded_files.h"
#include "storage/db/row_key.h"
#include "storage/reasons.h"

namespace ruvd::storage {
namespace {

constexpr char kSchemaRowOf01[] = "schema";  // ruvd 0.1 named its schema in this row
constexpr char kNodeKey[] = "node";
constexpr char kModelKey[] = "model";
constexpr char kLogCutKey[] = "log-cut";
constexpr size_t kStoreIdBytes = 16;

// Returns this program's families in the order of the enumeration, then those that only a newer
// program knows: RocksDB must open all that exist, also to read the schema that is refused.
std::vector<rocksdb::ColumnFamilyDescriptor> Descriptors(const rocksdb::DBOptions& options,
                                                         const std::string& path,
                                                         size_t memtable_bytes) {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  descriptors.reserve(kColumnFamilies.size());
  for (const ColumnFamilyInfo& info : kColumnFamilies) {
    descriptors.emplace_back(std::string(info.name),
                             db::MakeFamilyOptions(info.large_values, memtable_bytes));
  }
  std::vector<std::string> existing;  // stays empty for a new store
  rocksdb::DB::ListColumnFamilies(options, path, &existing).PermitUncheckedError();
  for (const std::string& name : existing) {
    const bool known = std::any_of(kColumnFamilies.begin(), kColumnFamilies.end(),
                                   [&](const ColumnFamilyInfo& info) { return info.name == name; });
    if (!known) {
      descriptors.emplace_back(name, db::MakeFamilyOptions(false, memtable_bytes));
    }
  }
  return descriptors;
}

std::string EncodeFormatRow() {
  v1::StoreFormat format;
  format.set_schema(kSchemaVersion);
  return format.SerializeAsString();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Database::Impl>> Database::Impl::Open(DatabaseOptions options) {
  std::unique_ptr<Impl> impl(new Impl(std::move(options)));
  RETURN_IF_ERROR(db::CreateStoreFolder(impl->options_.path));
  ASSIGN_OR_RETURN(impl->lock_, db::FolderLock::Acquire(impl->options_.path));
  RETURN_IF_ERROR(impl->OpenRocks());
  RETURN_IF_ERROR(impl->CheckSchema());
  RETURN_IF_ERROR(impl->CheckSealKey());
  RETURN_IF_ERROR(impl->LoadKeys());
  RETURN_IF_ERROR(impl->CheckHighWater());
  RETURN_IF_ERROR(impl->CheckModel());
  ASSIGN_OR_RETURN(const auto to_forget, impl->GetRaw(ColumnFamily::kDefault, kForgetKeysRow));
  if (to_forget) {
    // A change of keys was interrupted. If the disk is full, completing it fails again without
    // harm.
    const MutexLock maintenance(impl->maintenance_);
    impl->keys_to_forget_ = true;
    impl->ForgetWrappedKeys().IgnoreError();
    RETURN_IF_ERROR(impl->failure());
  }
  return impl;
}

absl::Status Database::Impl::OpenRocks() {
  files_ = options_.file_system ? options_.file_system : rocksdb::FileSystem::Default();
  env_ = rocksdb::NewCompositeEnv(db::MakeGuardedFiles(files_, latch_, options_.path));
  rocksdb::DBOptions options = db::MakeDbOptions(latch_);
  options.env = env_.get();
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(
      options, options_.path, Descriptors(options, options_.path, options_.memtable_bytes),
      &handles_, &raw);
  db_.reset(raw);
  RETURN_IF_ERROR(db::FromRocks(status, "opening"));
  RETURN_IF_ERROR(failure());
  ASSIGN_OR_RETURN(db::HighWaterFile::Opened opened,
                   db::HighWaterFile::Open(*files_, options_.path));
  high_water_ = std::move(opened.file);
  mark_ = opened.mark;
  recovery_.recovered = db_->GetLatestSequenceNumber();
  recovery_.acknowledged = mark_ ? mark_->sequence : recovery_.recovered;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> Database::Impl::GetRaw(ColumnFamily family,
                                                                  std::string_view key) const {
  std::string stored;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), handle(family), SliceOf(key), &stored);
  if (status.IsNotFound()) {
    return std::nullopt;
  }
  RETURN_IF_ERROR(db::FromRocks(status, "reading a row"));
  return stored;
}

absl::Status Database::Impl::CheckSchema() {
  ASSIGN_OR_RETURN(const auto stored, GetRaw(ColumnFamily::kDefault, kFormatRow));
  if (!stored) {
    ASSIGN_OR_RETURN(const auto old, GetRaw(ColumnFamily::kDefault, kSchemaRowOf01));
    if (old) {
      return Error(
          absl::StatusCode::kFailedPrecondition, reasons::kSchemaTooOld,
          "the store in {} was written by ruvd 0.1, whose stores and exports this ruvd does "
          "not read; keep ruvd 0.1 for it, or start this ruvd with an empty data folder "
          "and teach it again (`ruvd learn add`)",
          options_.path);
    }
    return WriteSchemaOfNewStore();
  }
  v1::StoreFormat format;
  if (!format.ParseFromString(*stored) || format.schema() == 0) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the format row of the store in {} is damaged; restore it from a backup",
                 options_.path);
  }
  if (format.schema() != kSchemaVersion) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kSchemaTooNew,
                 "the store in {} has schema {}, and this ruvd reads schema {} only; use the ruvd "
                 "that wrote it, or choose another data folder",
                 options_.path, format.schema(), kSchemaVersion);
  }
  return absl::OkStatus();
}

// Schema and store id are written before everything else. If they are missing although more was
// acknowledged, the store is not new: its log was lost from the start. If the node's key was being
// changed, there was a store too, perhaps one that only the next key opens; an empty store in its
// place would settle that change the wrong way.
absl::Status Database::Impl::CheckMayBegin(std::string_view row) const {
  if (recovery_.missing() > 0) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the store in {} has lost its {} row and {} acknowledged changes: its log is "
                 "damaged or gone; restore it from a backup, or move the folder away to begin with "
                 "an empty store",
                 options_.path, row, recovery_.missing());
  }
  if (options_.next_seal_key) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileNotFound,
                 "there is no store in {}, but a change of its seal key was interrupted: mount the "
                 "data folder that holds it; if it is lost for good, remove the next key (the file "
                 "beside the present key that ends in .next)",
                 options_.path);
  }
  return absl::OkStatus();
}

absl::Status Database::Impl::WriteSchemaOfNewStore() {
  RETURN_IF_ERROR(CheckMayBegin(kFormatRow));
  for (const ColumnFamilyInfo& info : kColumnFamilies) {
    std::unique_ptr<rocksdb::Iterator> rows(
        db_->NewIterator(rocksdb::ReadOptions(), handle(info.family)));
    rows->SeekToFirst();
    if (rows->Valid()) {
      return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                   "the store in {} has rows in {} but no format row; restore it from a backup",
                   options_.path, info.name);
    }
    RETURN_IF_ERROR(db::FromRocks(rows->status(), "opening"));
  }
  if (high_water_ == nullptr) {
    ASSIGN_OR_RETURN(high_water_, db::HighWaterFile::Create(*files_, options_.path));
    mark_ = db::HighWater{};
  }
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(db::FromRocks(batch.Put(kFormatRow, EncodeFormatRow()), "opening"));
  ASSIGN_OR_RETURN(const SpaceClaim space, Admit(batch.GetDataSize(), /*bulk=*/false));
  return CommitAndSync(&batch);
}

absl::Status Database::Impl::CheckSealKey() {
  ASSIGN_OR_RETURN(const auto stored, GetRaw(ColumnFamily::kDefault, kNodeKey));
  if (!stored) {
    RETURN_IF_ERROR(CheckMayBegin(kNodeKey));
    std::array<uint8_t, kStoreIdBytes> id;
    privacy::SecureRandomBytes(id);
    store_id_ = AsText(id);
    rocksdb::WriteBatch batch;
    RETURN_IF_ERROR(db::FromRocks(
        batch.Put(kNodeKey, EncodeStoredValue(node_key(), ColumnFamily::kDefault, kNodeKey,
                                              kSchemaVersion, /*generation=*/0, store_id_)),
        "opening"));
    ASSIGN_OR_RETURN(const SpaceClaim space, Admit(batch.GetDataSize(), /*bulk=*/false));
    return CommitAndSync(&batch);
  }
  absl::StatusOr<OpenedValue> id = Decode(ColumnFamily::kDefault, kNodeKey, *stored, 0);
  if (!id.ok() && options_.next_seal_key) {
    const absl::StatusOr<OpenedValue> by_next = DecodeStoredValue(
        &*options_.next_seal_key, nullptr, ColumnFamily::kDefault, kNodeKey, *stored, 0);
    if (by_next.ok()) {
      const MutexLock lock(node_key_mutex_);
      node_key_ = *options_.next_seal_key;
      opened_with_next_key_ = true;
      id = by_next;
    }
  }
  if (!id.ok()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kSealBroken,
                 "the store in {} does not open with this seal key; restore the key file it was "
                 "made with (or give its passphrase), or choose another data folder",
                 options_.path);
  }
  store_id_ = std::move(id->plaintext);
  return absl::OkStatus();
}

absl::Status Database::Impl::LoadKeys() {
  std::unique_ptr<rocksdb::Iterator> rows(
      db_->NewIterator(rocksdb::ReadOptions(), handle(ColumnFamily::kKey)));
  for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
    const std::string_view key = ViewOf(rows->key());
    const auto id = ReadKeyU64(key, 0);
    if (!id || *id == 0 || key.size() != 8) {
      return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                   "the store in {} has a data key without a number; restore it from a backup",
                   options_.path);
    }
    ASSIGN_OR_RETURN(OpenedValue value, Decode(ColumnFamily::kKey, key, ViewOf(rows->value()),
                                               /*expected_generation=*/0));
    absl::StatusOr<KeyRecord> record = DecodeKeyRecord(value.plaintext);
    privacy::SecureWipe(
        {reinterpret_cast<uint8_t*>(value.plaintext.data()), value.plaintext.size()});
    RETURN_IF_ERROR(record.status());
    ring_.Set(*id, *std::move(record));
  }
  return db::FromRocks(rows->status(), "reading the data keys");
}

absl::Status Database::Impl::ReadLastLoss() {
  ASSIGN_OR_RETURN(const auto stored, GetRaw(ColumnFamily::kDefault, kLogCutKey));
  if (!stored) {
    return absl::OkStatus();
  }
  const auto value = Decode(ColumnFamily::kDefault, kLogCutKey, *stored, /*expected_generation=*/0);
  if (!value.ok()) {
    return absl::OkStatus();  // gives no information; `ruvd store verify` reports it
  }
  ByteReader reader(AsBytes(value->plaintext));
  const auto at_ms = reader.Read<int64_t>();
  const auto changes = reader.Read<uint64_t>();
  if (!reader.failed()) {
    recovery_.last_loss = RecoveryReport::Loss{.at_ms = *at_ms, .changes = *changes};
  }
  return absl::OkStatus();
}

absl::Status Database::Impl::CheckHighWater() {
  RETURN_IF_ERROR(ReadLastLoss());
  recovery_.closed = mark_ && mark_->clean;
  recovery_.mark_damaged = !mark_;  // a store has its mark from before its first row
  if (!recovery_.loss()) {
    return SettleMark();
  }
  // The number starts again from the changes that are there, and the loss is noted.
  rocksdb::WriteBatch batch;
  recovery_.last_loss =
      RecoveryReport::Loss{.at_ms = options_.clock->WallMillis(), .changes = recovery_.missing()};
  const std::string row =
      ByteWriter().Write(recovery_.last_loss->at_ms).Write(recovery_.last_loss->changes).Take();
  RETURN_IF_ERROR(
      db::FromRocks(batch.Put(kLogCutKey, EncodeStoredValue(node_key(), ColumnFamily::kDefault,
                                                            kLogCutKey, kSchemaVersion, 0, row)),
                    "opening"));
  // Numbers of the log of changes are given again too, so a follower of that log must not continue.
  RETURN_IF_ERROR(db::FromRocks(batch.Delete(kStoreLifeRow), "opening"));
  const absl::StatusOr<SpaceClaim> space = Admit(batch.GetDataSize(), /*bulk=*/false);
  if (!space.ok()) {
    recovery_.remembered = false;
    return absl::OkStatus();  // the disk is full: the next open reports the loss again
  }
  RETURN_IF_ERROR(SettleMark());  // written after the row's fsync
  return CommitAndSync(&batch);
}

// From now on the mark follows the store.
absl::Status Database::Impl::SettleMark() {
  if (high_water_ == nullptr) {
    ASSIGN_OR_RETURN(high_water_, db::HighWaterFile::Create(*files_, options_.path));
  }
  mark_settled_ = true;
  return absl::OkStatus();
}

absl::Status Database::Impl::CheckModel() {
  if (!options_.model_hash) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto stored, GetRaw(ColumnFamily::kDefault, kModelKey));
  if (!stored) {
    Changes changes;
    changes.push_back(
        {ColumnFamily::kDefault, kModelKey, std::string(AsText(*options_.model_hash)), 0, {}, {}});
    return Write(changes, /*frees_space=*/false, Durability::kPowerLoss);
  }
  ASSIGN_OR_RETURN(const OpenedValue bound,
                   Decode(ColumnFamily::kDefault, kModelKey, *stored, /*expected_generation=*/0));
  if (bound.plaintext != AsText(*options_.model_hash)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kStoreForOtherModel,
                 "the store in {} belongs to model {}, not {}; serve that model or choose another "
                 "data folder",
                 options_.path, ToHex(AsBytes(bound.plaintext)), ToHex(*options_.model_hash));
  }
  return absl::OkStatus();
}

}  // namespace ruvd::storage
