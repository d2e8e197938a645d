// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/database.h"

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/database_impl.h"
#include "storage/db/stored_value.h"

namespace ruvd {
namespace {

rocksdb::Slice SliceOf(std::string_view text) {
  return {text.data(), text.size()};
}

std::string_view ViewOf(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace

std::string_view HealthName(StoreHealth health) {
  switch (health) {
    case StoreHealth::kOk:
      return "ok";
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

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Database::~Database() {
  (void)Close();
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(DatabaseOptions options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Impl> impl, Impl::Open(std::move(options)));
  std::unique_ptr<Database> database(new Database(std::move(impl)));
  RETURN_IF_ERROR(database->impl_->CheckSchema());
  RETURN_IF_ERROR(database->impl_->CheckSealKey());
  RETURN_IF_ERROR(database->impl_->CheckModel());
  return database;
}

absl::Status Database::Write(Batch batch, Durability durability) {
  rocksdb::WriteBatch sealed;
  uint64_t bytes = 0;
  bool bulk = false;
  for (const Batch::Change& change : batch.changes_) {
    const size_t value_bytes = change.plaintext ? change.plaintext->size() : 0;
    const size_t key_bytes = std::max(change.key.size(), change.range_end.size());
    if (key_bytes > limits::kMaxRowKeyBytes || value_bytes > limits::kMaxRowValueBytes) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                   "row of {} has a key of {} and a value of {} bytes, the limits are {} and {}; "
                   "store less in one row",
                   InfoOf(change.family).name, key_bytes, value_bytes, limits::kMaxRowKeyBytes,
                   limits::kMaxRowValueBytes);
    }
    bytes += key_bytes + value_bytes + kStoredValueOverheadBytes;
    bulk = bulk || (change.plaintext && InfoOf(change.family).stops_at_soft_reserve);
  }
  if (bytes > limits::kMaxBatchBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a batch of {} bytes exceeds the limit of {}; write it in parts", bytes,
                 limits::kMaxBatchBytes);
  }
  RETURN_IF_ERROR(impl_->Admit(bytes, bulk));
  for (const Batch::Change& change : batch.changes_) {
    rocksdb::ColumnFamilyHandle* handle = impl_->handle(change.family);
    rocksdb::Status status;
    if (change.plaintext) {
      status = sealed.Put(handle, change.key,
                          EncodeStoredValue(impl_->key(), change.family, change.key, kSchemaVersion,
                                            change.generation, *change.plaintext));
    } else if (!change.range_end.empty()) {
      status = sealed.DeleteRange(handle, change.key, change.range_end);
    } else {
      status = sealed.Delete(handle, change.key);
    }
    RETURN_IF_ERROR(db::FromRocks(status, "building a batch"));
  }
  return impl_->Apply(&sealed, bytes, durability);
}

absl::StatusOr<std::string> Database::Get(ColumnFamily family, std::string_view key,
                                          std::optional<uint32_t> expected_generation) const {
  rocksdb::PinnableSlice stored;
  const rocksdb::Status status =
      impl_->db().Get(rocksdb::ReadOptions(), impl_->handle(family), SliceOf(key), &stored);
  if (status.IsNotFound()) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound, "no row {} in {}",
                 ToHex(AsBytes(key)), InfoOf(family).name);
  }
  RETURN_IF_ERROR(db::FromRocks(status, "reading a row"));
  ASSIGN_OR_RETURN(OpenedValue value, DecodeStoredValue(impl_->key(), family, key, ViewOf(stored),
                                                        expected_generation));
  return std::move(value.plaintext);
}

absl::StatusOr<bool> Database::Contains(ColumnFamily family, std::string_view key) const {
  rocksdb::PinnableSlice stored;
  const rocksdb::Status status =
      impl_->db().Get(rocksdb::ReadOptions(), impl_->handle(family), SliceOf(key), &stored);
  if (status.IsNotFound()) {
    return false;
  }
  RETURN_IF_ERROR(db::FromRocks(status, "reading a row"));
  return true;
}

absl::Status Database::Scan(ColumnFamily family, std::string_view start, std::string_view end,
                            const RowCallback& callback) const {
  return ScanRows(family, start, end, Direction::kForward, callback);
}

absl::Status Database::ScanBackward(ColumnFamily family, std::string_view start,
                                    std::string_view end, const RowCallback& callback) const {
  return ScanRows(family, start, end, Direction::kBackward, callback);
}

absl::Status Database::ScanRows(ColumnFamily family, std::string_view start, std::string_view end,
                                Direction direction, const RowCallback& callback) const {
  rocksdb::ReadOptions read;
  read.fill_cache = false;  // a scan would push out what single reads need
  const bool forward = direction == Direction::kForward;
  const rocksdb::Slice first = SliceOf(start);
  const rocksdb::Slice bound = SliceOf(end);
  read.iterate_lower_bound = &first;
  if (!end.empty()) {
    read.iterate_upper_bound = &bound;
  }
  std::unique_ptr<rocksdb::Iterator> rows(impl_->db().NewIterator(read, impl_->handle(family)));
  forward ? rows->SeekToFirst() : rows->SeekToLast();
  for (; rows->Valid(); forward ? rows->Next() : rows->Prev()) {
    const std::string_view key = ViewOf(rows->key());
    ASSIGN_OR_RETURN(const OpenedValue value,
                     DecodeStoredValue(impl_->key(), family, key, ViewOf(rows->value())));
    ASSIGN_OR_RETURN(const bool more, callback({key, value.plaintext, value.generation}));
    if (!more) {
      return absl::OkStatus();
    }
  }
  return db::FromRocks(rows->status(), "a scan");
}

absl::StatusOr<std::optional<std::string>> Database::LastKey(ColumnFamily family) const {
  std::unique_ptr<rocksdb::Iterator> rows(
      impl_->db().NewIterator(rocksdb::ReadOptions(), impl_->handle(family)));
  rows->SeekToLast();
  RETURN_IF_ERROR(db::FromRocks(rows->status(), "a scan"));
  return rows->Valid() ? std::optional(rows->key().ToString()) : std::nullopt;
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

}  // namespace ruvd
