// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/rocks_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>

#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage::db {
namespace {

// An edge node's share of memory; the vector index is in memory too.
constexpr size_t kBlockCacheBytes = 32 << 20;
constexpr size_t kAllMemtablesBytes = 64 << 20;
// The log is replayed at start after a crash, so this bounds the time of that start.
constexpr uint64_t kMaxLogBytes = 64 << 20;
constexpr int kMaxOpenFiles = 512;
constexpr int kBloomBits = 10;
constexpr uint64_t kMinBlobBytes = 1024;
constexpr size_t kInfoLogBytes = 1 << 20;

class BackgroundErrorListener final : public rocksdb::EventListener {
 public:
  explicit BackgroundErrorListener(std::shared_ptr<FailureLatch> latch)
      : latch_(std::move(latch)) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/,
                         rocksdb::Status* error) override {
    latch_->Fail(FromRocks(*error, "background work"));
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }

 private:
  std::shared_ptr<FailureLatch> latch_;
};

}  // namespace

void FailureLatch::Fail(const absl::Status& status) {
  MutexLock lock(mutex_);
  if (status_.ok()) {
    status_ = status;
    failed_.store(true, std::memory_order_release);
  }
}

absl::Status FailureLatch::status() const {
  MutexLock lock(mutex_);
  return status_;
}

rocksdb::DBOptions MakeDbOptions(std::shared_ptr<FailureLatch> latch) {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.paranoid_checks = true;
  // A live log that is missing or shorter than what was fsynced of it is an error. This does not
  // cover the newest log, for which there is the high-water mark.
  options.track_and_verify_wals_in_manifest = true;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.max_bgerror_resume_count = 0;
  options.listeners.push_back(std::make_shared<BackgroundErrorListener>(std::move(latch)));
  options.db_write_buffer_size = kAllMemtablesBytes;
  options.max_total_wal_size = kMaxLogBytes;
  options.max_open_files = kMaxOpenFiles;
  options.max_background_jobs = 2;
  options.keep_log_file_num = 2;
  options.max_log_file_size = kInfoLogBytes;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

rocksdb::ColumnFamilyOptions MakeFamilyOptions(bool large_values, size_t memtable_bytes) {
  static const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  table.checksum = rocksdb::ChecksumType::kXXH3;
  table.format_version = 5;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBits));
  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = memtable_bytes;
  options.compression = rocksdb::kNoCompression;
  options.enable_blob_files = large_values;
  options.min_blob_size = kMinBlobBytes;
  options.enable_blob_garbage_collection = true;
  return options;
}

absl::Status FromRocks(const rocksdb::Status& status, std::string_view action) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  if (status.IsNoSpace()) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kDiskFull,
                 "no disk space left for {} of the store; free space and restart the node", action);
  }
  if (status.IsCorruption()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "{} of the store failed: {}; restore the data folder from a backup", action,
                 status.ToString());
  }
  return Error(absl::StatusCode::kInternal, reasons::kStoreReadOnly,
               "{} of the store failed: {}; check the disk and restart the node", action,
               status.ToString());
}

}  // namespace ruvd::storage::db
