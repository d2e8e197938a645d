// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/row_sweep.h"

#include <memory>
#include <mutex>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/database_impl.h"

namespace ruvd::storage {
namespace {

constexpr std::string_view kCursorPrefix = "sweep/";
// The most that one step looks at; most of these rows stay unchanged.
constexpr size_t kMaxRowsSeen = 16 * limits::kMaxSweepRows;
constexpr size_t kMaxBytesSeen = 8 * limits::kMaxSweepBytes;

std::optional<ColumnFamily> NextFamily(ColumnFamily family) {
  for (auto number = static_cast<size_t>(family) + 1; number < kColumnFamilies.size(); ++number) {
    if (kColumnFamilies[number].family != ColumnFamily::kKey) {
      return kColumnFamilies[number].family;
    }
  }
  return std::nullopt;
}

// One step: a batch under construction and its place.
class Step {
 public:
  Step(Database::Impl& impl, const RowSweep& sweep, SweepCursor cursor)
      : impl_(impl), sweep_(sweep), cursor_(std::move(cursor)) {}

  // Continues until the step is full or the last family ends. The cursor leaves an exhausted family
  // before anything checks whether the step is full. Otherwise a step that is full with a family's
  // last row would begin again where it began, for ever.
  absl::Status Run() {
    while (!finished_ && !Full()) {
      ASSIGN_OR_RETURN(const bool exhausted, RunFamily());
      if (!exhausted) {
        continue;  // the step is full
      }
      const std::optional<ColumnFamily> next = NextFamily(cursor_.family);
      finished_ = !next;
      if (next) {
        cursor_ = {*next, ""};
      }
    }
    return absl::OkStatus();
  }
  bool finished() const { return finished_; }
  const SweepCursor& cursor() const { return cursor_; }
  rocksdb::WriteBatch& batch() { return batch_; }

 private:
  bool Full() const {
    return seen_ >= kMaxRowsSeen || bytes_seen_ >= kMaxBytesSeen ||
           changed_ >= limits::kMaxSweepRows || batch_.GetDataSize() >= limits::kMaxSweepBytes;
  }

  // Returns whether the family's last row was seen; otherwise the cursor names the next row.
  absl::StatusOr<bool> RunFamily() {
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    std::unique_ptr<rocksdb::Iterator> rows(
        impl_.db().NewIterator(read, impl_.handle(cursor_.family)));
    for (rows->Seek(cursor_.key); rows->Valid(); rows->Next()) {
      const std::string_view key = ViewOf(rows->key());
      if (Full()) {
        cursor_.key = key;
        return false;
      }
      ++seen_;
      bytes_seen_ += rows->value().size();
      if (!IsStoreRow(cursor_.family, key)) {
        RETURN_IF_ERROR(Judge(key, ViewOf(rows->value())));
      }
    }
    RETURN_IF_ERROR(db::FromRocks(rows->status(), "a sweep"));
    return true;
  }

  absl::Status Judge(std::string_view key, std::string_view stored) {
    ASSIGN_OR_RETURN(const RowSweep::Verdict verdict, sweep_.judge(cursor_.family, key, stored));
    if (verdict.action == RowSweep::Action::kKeep) {
      return absl::OkStatus();
    }
    ++changed_;
    rocksdb::ColumnFamilyHandle* handle = impl_.handle(cursor_.family);
    return db::FromRocks(verdict.action == RowSweep::Action::kReplace
                             ? batch_.Put(handle, SliceOf(key), verdict.stored)
                             : batch_.Delete(handle, SliceOf(key)),
                         "a sweep");
  }

  Database::Impl& impl_;
  const RowSweep& sweep_;
  SweepCursor cursor_;
  rocksdb::WriteBatch batch_;
  size_t seen_ = 0;
  size_t bytes_seen_ = 0;
  size_t changed_ = 0;
  bool finished_ = false;
};

}  // namespace

std::string SweepCursorKey(std::string_view name) {
  return std::string(kCursorPrefix) + std::string(name);
}

std::string EncodeSweepCursor(const SweepCursor& cursor) {
  return ByteWriter().Write(static_cast<uint8_t>(cursor.family)).WriteText(cursor.key).Take();
}

absl::StatusOr<SweepCursor> DecodeSweepCursor(std::string_view bytes) {
  if (bytes.empty() || static_cast<uint8_t>(bytes.front()) >= kColumnFamilies.size()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the cursor of a sweep does not decode; restore the store from a backup");
  }
  return SweepCursor{.family = static_cast<ColumnFamily>(bytes.front()),
                     .key = std::string(bytes.substr(1))};
}

bool IsStoreRow(ColumnFamily family, std::string_view key) {
  return family == ColumnFamily::kKey ||
         (family == ColumnFamily::kDefault &&
          (key == kFormatRow || key == "node" || key.starts_with(kCursorPrefix)));
}

absl::StatusOr<bool> Database::Impl::SweepStep(const RowSweep& sweep) {
  const std::unique_lock gate(key_gate_);
  const std::string cursor_key = SweepCursorKey(sweep.name);
  SweepCursor cursor;
  ASSIGN_OR_RETURN(const auto stored, GetRaw(ColumnFamily::kDefault, cursor_key));
  if (stored) {
    ASSIGN_OR_RETURN(const OpenedValue value,
                     Decode(ColumnFamily::kDefault, cursor_key, *stored, std::nullopt));
    ASSIGN_OR_RETURN(cursor, DecodeSweepCursor(value.plaintext));
  }
  Step step(*this, sweep, std::move(cursor));
  RETURN_IF_ERROR(step.Run());
  rocksdb::WriteBatch& batch = step.batch();
  const rocksdb::Status moved =
      step.finished() ? batch.Delete(cursor_key)
                      : batch.Put(cursor_key, EncodeStoredValue(node_key(), ColumnFamily::kDefault,
                                                                cursor_key, kSchemaVersion, 0,
                                                                EncodeSweepCursor(step.cursor())));
  RETURN_IF_ERROR(db::FromRocks(moved, "a sweep"));
  ASSIGN_OR_RETURN(const SpaceClaim space, Admit(batch.GetDataSize(), /*bulk=*/false));
  if (step.finished()) {
    RETURN_IF_ERROR(CommitAndSync(&batch));
    return false;
  }
  RETURN_IF_ERROR(Commit(&batch));
  return true;
}

}  // namespace ruvd::storage
