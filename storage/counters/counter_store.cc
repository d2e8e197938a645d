// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/counters/counter_store.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage {
namespace {

constexpr char kBootKey[] = "counter/boot";
constexpr uint64_t kMaxCounterFileBytes = 32;  // 20 digits and a line feed

}  // namespace

CounterStore::CounterStore(Database& database)
    : database_(database), file_(database.path() + "/boot-counter") {}

absl::StatusOr<uint64_t> CounterStore::ReadRow() const {
  const absl::StatusOr<std::string> row = database_.Get(ColumnFamily::kDefault, kBootKey);
  if (absl::IsNotFound(row.status())) {
    return 0;
  }
  RETURN_IF_ERROR(row.status());
  const auto value = ByteReader(AsBytes(*row)).Read<uint64_t>();
  if (!value) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the boot counter's row does not decode; restore the store from a backup");
  }
  return *value;
}

absl::StatusOr<uint64_t> CounterStore::ReadFileCounter() const {
  const absl::StatusOr<std::string> contents = ReadFile(file_, kMaxCounterFileBytes);
  if (absl::IsNotFound(contents.status())) {
    return 0;
  }
  RETURN_IF_ERROR(contents.status());
  uint64_t value = 0;
  const char* end = contents->data() + contents->size();
  const auto [parsed, error] = std::from_chars(contents->data(), end, value);
  if (error != std::errc() || parsed == end || *parsed != '\n' || parsed + 1 != end) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "{} is not a counter; restore it from a backup, or write a number greater than "
                 "the node's starts so far and a line feed into it",
                 file_);
  }
  return value;
}

absl::StatusOr<uint64_t> CounterStore::NextBoot() {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const uint64_t row, ReadRow());
  ASSIGN_OR_RETURN(const uint64_t file, ReadFileCounter());
  const uint64_t last = std::max(row, file);
  if (last == std::numeric_limits<uint64_t>::max()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the boot counter in {} is at its end; create a new node key and data folder",
                 file_);
  }
  const uint64_t next = last + 1;
  RETURN_IF_ERROR(WriteFileAtomically(file_, fmt::format("{}\n", next), 0600));
  Batch batch;
  batch.Put(ColumnFamily::kDefault, kBootKey, ByteWriter().Write(next).Take());
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kPowerLoss));
  return next;
}

}  // namespace ruvd::storage
