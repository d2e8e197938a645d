// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/database.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"
#include "storage/db/database_impl.h"
#include "storage/reasons.h"

namespace ruvd::storage {
std::string_view HealthName(StoreHealth health) {
  switch (health) {
    case StoreHealth::kOk:
      return "ok";
    case StoreHealth::kRecoveredWithLoss:
      return "recovered_with_loss";
    case StoreHealth::kPatternsStopped:
      return "patterns_stopped";
    case StoreHealth::kReadOnly:
      return "read_only";
    case StoreHealth::kFailed:
      return "failed";
  }
  return "failed";
}

void Batch::Put(ColumnFamily family, std::string_view key, std::string_view plaintext,
                uint32_t generation, const KeyScope& scope) {
  changes_.push_back({family, std::string(key), std::string(plaintext), generation, scope, {}});
}

void Batch::Delete(ColumnFamily family, std::string_view key) {
  changes_.push_back({family, std::string(key), std::nullopt, 0, {}, {}});
}

void Batch::DeleteRange(ColumnFamily family, std::string_view start, std::string_view end) {
  RUVD_CHECK(start < end);
  changes_.push_back({family, std::string(start), std::nullopt, 0, {}, std::string(end)});
}

namespace {

absl::Status CheckReadable(ColumnFamily family) {
  return family != ColumnFamily::kKey
             ? absl::OkStatus()
             : Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                     "rows of the family key cannot be read; use DataKeys");
}

}  // namespace

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Database::~Database() {
  (void)Close();
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(DatabaseOptions options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Impl> impl, Impl::Open(std::move(options)));
  return std::unique_ptr<Database>(new Database(std::move(impl)));
}

absl::Status Database::Write(Batch batch, Durability durability) {
  const absl::Status written = impl_->Write(batch.changes_, batch.frees_space_, durability);
  for (Batch::Change& change : batch.changes_) {
    if (change.plaintext) {  // some are secrets
      privacy::SecureWipe(
          {reinterpret_cast<uint8_t*>(change.plaintext->data()), change.plaintext->size()});
    }
  }
  return written;
}

absl::Status Database::CheckSpace(uint64_t bytes) {
  return impl_->CheckSpace(bytes);
}

absl::Status Database::Sync() {
  return impl_->Sync();
}

absl::StatusOr<std::string> Database::Get(ColumnFamily family, std::string_view key,
                                          std::optional<uint32_t> expected_generation) const {
  RETURN_IF_ERROR(CheckReadable(family));
  const KeyRing::View keys = impl_->ring().Hold();
  rocksdb::PinnableSlice stored;
  const rocksdb::Status status =
      impl_->db().Get(rocksdb::ReadOptions(), impl_->handle(family), SliceOf(key), &stored);
  if (status.IsNotFound()) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound, "no row {} in {}",
                 ToHex(AsBytes(key)), InfoOf(family).name);
  }
  RETURN_IF_ERROR(db::FromRocks(status, "reading a row"));
  ASSIGN_OR_RETURN(OpenedValue value,
                   impl_->Decode(family, key, ViewOf(stored), expected_generation, keys));
  return std::move(value.plaintext);
}

absl::StatusOr<bool> Database::Contains(ColumnFamily family, std::string_view key) const {
  const KeyRing::View keys = impl_->ring().Hold();
  rocksdb::PinnableSlice stored;
  const rocksdb::Status status =
      impl_->db().Get(rocksdb::ReadOptions(), impl_->handle(family), SliceOf(key), &stored);
  if (status.IsNotFound()) {
    return false;
  }
  RETURN_IF_ERROR(db::FromRocks(status, "reading a row"));
  return !Impl::IsErased(family, key, ViewOf(stored), keys);
}

absl::Status Database::Scan(ColumnFamily family, std::string_view start, std::string_view end,
                            const RowCallback& callback, const BrokenCallback& broken) const {
  return ScanRows(family, start, end, Direction::kForward, callback, broken);
}

absl::Status Database::ScanBackward(ColumnFamily family, std::string_view start,
                                    std::string_view end, const RowCallback& callback,
                                    const BrokenCallback& broken) const {
  return ScanRows(family, start, end, Direction::kBackward, callback, broken);
}

absl::Status Database::ScanRows(ColumnFamily family, std::string_view start, std::string_view end,
                                Direction direction, const RowCallback& callback,
                                const BrokenCallback& broken) const {
  RETURN_IF_ERROR(CheckReadable(family));
  rocksdb::ReadOptions read;
  read.fill_cache = false;  // a scan would evict the blocks that single reads need
  const bool forward = direction == Direction::kForward;
  const rocksdb::Slice first = SliceOf(start);
  const rocksdb::Slice bound = SliceOf(end);
  read.iterate_lower_bound = &first;
  if (!end.empty()) {
    read.iterate_upper_bound = &bound;
  }
  const KeyRing::View keys = impl_->ring().Hold();
  std::unique_ptr<rocksdb::Iterator> rows(impl_->db().NewIterator(read, impl_->handle(family)));
  forward ? rows->SeekToFirst() : rows->SeekToLast();
  for (; rows->Valid(); forward ? rows->Next() : rows->Prev()) {
    const std::string_view key = ViewOf(rows->key());
    const absl::StatusOr<OpenedValue> value =
        impl_->Decode(family, key, ViewOf(rows->value()), std::nullopt, keys);
    if (ReasonOf(value.status()) == reasons::kKeyDestroyed) {
      continue;
    }
    if (!value.ok() && !broken) {
      return value.status();
    }
    ASSIGN_OR_RETURN(const bool more, value.ok()
                                          ? callback({key, value->plaintext, value->generation})
                                          : broken(key));
    if (!more) {
      return absl::OkStatus();
    }
  }
  return db::FromRocks(rows->status(), "a scan");
}

absl::Status Database::ChangeSealKey(const privacy::SealKey& next) {
  return impl_->ChangeSealKey(next);
}

bool Database::opened_with_next_key() const {
  return impl_->opened_with_next_key();
}

std::vector<DataKeyInfo> Database::DataKeys() const {
  std::vector<DataKeyInfo> infos;
  for (const auto& [id, record] : impl_->ring().List("")) {
    DataKeyInfo info{.id = id, .scope = record.scope, .created_ms = record.created_ms};
    switch (record.state) {
      case KeyRecord::State::kActive:
        info.state = DataKeyInfo::State::kActive;
        break;
      case KeyRecord::State::kRetired:
        info.state = DataKeyInfo::State::kRetired;
        break;
      case KeyRecord::State::kDestroyed:
        info.state = DataKeyInfo::State::kDestroyed;
        break;
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

absl::Status Database::RotateDataKeys(std::string_view scope) {
  return impl_->RotateDataKeys(scope);
}

absl::StatusOr<bool> Database::ResealStep() {
  return impl_->ResealStep();
}

absl::Status Database::Erase(const KeyScope& scope,
                             const std::function<absl::Status(const DestroyKeys&)>& around) {
  if (scope.name().empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "name the user or the collection whose values are to be erased");
  }
  return impl_->Erase(scope.name(), around);
}

absl::Status Database::EnsureKey(const KeyScope& scope) {
  return impl_->EnsureKey(scope.name());
}

absl::StatusOr<bool> Database::ReclaimKeysStep() {
  return impl_->ReclaimKeysStep();
}

absl::Status Database::Compact() {
  return impl_->Compact();
}

absl::StatusOr<BackupManifest> Database::Backup(
    const std::string& folder, const std::function<bool()>& cancelled,
    const std::function<void(size_t, size_t)>& on_file) {
  return impl_->Backup(folder, cancelled, on_file);
}

absl::StatusOr<StoreReport> Database::Verify() const {
  return impl_->Verify();
}

const RecoveryReport& Database::recovery() const {
  return impl_->recovery();
}

const std::string& Database::store_id() const {
  return impl_->store_id();
}

StoreHealth Database::Health() const {
  return impl_->Health();
}

absl::Status Database::failure() const {
  return impl_->failure();
}

const std::string& Database::path() const {
  return impl_->options().path;
}

const Clock& Database::clock() const {
  return *impl_->options().clock;
}

absl::Status Database::Flush() {
  return impl_->Flush();
}

absl::Status Database::Close() {
  return impl_->Close();
}

}  // namespace ruvd::storage
