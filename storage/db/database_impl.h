// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <vector>

#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/db/rocks_options.h"
#include "storage/db/store_folder.h"

namespace ruvd {

// What the public methods of Database share: the RocksDB instance, its handles, the checks at open
// and the admission of writes.
class Database::Impl {
 public:
  static absl::StatusOr<std::unique_ptr<Impl>> Open(DatabaseOptions options);
  ~Impl();

  // Writes the rows of a new store, or refuses one that a newer program wrote.
  absl::Status CheckSchema();
  // SEAL_BROKEN unless the store was made with this key.
  absl::Status CheckSealKey();
  absl::Status CheckModel();

  // Whether `bytes` may be written now.
  absl::Status Admit(uint64_t bytes, bool bulk);
  absl::Status Apply(rocksdb::WriteBatch* batch, uint64_t bytes, Durability durability);
  absl::Status Flush();
  absl::Status Close();

  StoreHealth Health();
  absl::Status failure() const { return latch_->status(); }
  rocksdb::DB& db() const { return *db_; }
  rocksdb::ColumnFamilyHandle* handle(ColumnFamily family) const {
    return handles_[static_cast<size_t>(family)];
  }
  const SealKey& key() const { return options_.seal_key; }
  const DatabaseOptions& options() const { return options_; }

 private:
  explicit Impl(DatabaseOptions options);
  absl::Status OpenRocks();
  absl::Status CheckNotFailed() const;
  absl::Status WriteSchemaOfNewStore();
  // A sealed row of the default family that is written once and must read the same ever after.
  absl::StatusOr<std::string> GetOrCreateFixedRow(std::string_view key, std::string_view initial);

  DatabaseOptions options_;
  DiskReserve reserve_;
  std::shared_ptr<db::FailureLatch> latch_ = std::make_shared<db::FailureLatch>();
  // One write at a time: after a failed one no other may reach RocksDB, which could abort on it.
  Mutex write_mutex_;
  std::unique_ptr<db::FolderLock> lock_;  // released after RocksDB has closed
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;  // by ColumnFamily, then unknown ones
};

}  // namespace ruvd
