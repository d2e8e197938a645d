// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <memory>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "storage/db/column_family.h"

// Internal to storage/db: the only headers that see RocksDB.
namespace ruvd::db {

// Remembers the first failure of RocksDB, from a write or from a background thread. Thread-safe.
class FailureLatch {
 public:
  void Fail(const absl::Status& status);
  absl::Status status() const;

 private:
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// Point-in-time recovery, no recovery of its own after background errors (they go into `latch`),
// bounded memory, log and files.
rocksdb::DBOptions MakeDbOptions(std::shared_ptr<FailureLatch> latch);

// Bloom filters of 10 bits, xxh3 checksums, no compression (sealed values do not compress).
rocksdb::ColumnFamilyOptions MakeFamilyOptions(bool large_values);

// DISK_FULL, STORE_CORRUPT or INTERNAL, with cause and remedy. `action` is what was tried.
absl::Status FromRocks(const rocksdb::Status& status, std::string_view action);

}  // namespace ruvd::db
