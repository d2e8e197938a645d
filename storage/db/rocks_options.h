// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "storage/db/column_family.h"

// Only the headers internal to storage/db, such as this one, see RocksDB.
namespace ruvd::storage::db {

// Remembers the first failure of RocksDB, from a write or from a background thread. Thread-safe.
class FailureLatch {
 public:
  void Fail(const absl::Status& status);
  absl::Status status() const;
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> failed_{false};
};

// Sets point-in-time recovery, no automatic recovery after background errors (they go into
// `latch`), and bounded memory, log and files.
rocksdb::DBOptions MakeDbOptions(std::shared_ptr<FailureLatch> latch);

// Sets Bloom filters of 10 bits, xxh3 checksums and no compression, because sealed values do not
// compress. A memtable is flushed at `memtable_bytes`.
rocksdb::ColumnFamilyOptions MakeFamilyOptions(bool large_values, size_t memtable_bytes);

// Returns DISK_FULL, STORE_CORRUPT or INTERNAL, with cause and remedy. `action` names what failed.
absl::Status FromRocks(const rocksdb::Status& status, std::string_view action);

}  // namespace ruvd::storage::db
