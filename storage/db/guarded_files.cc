// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/guarded_files.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace ruvd::storage::db {
namespace {

using rocksdb::FileOptions;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

bool IsLog(std::string_view name) {
  return name.ends_with(".log");
}

// Treats "a//b/" and "a/b" as the same folder.
std::filesystem::path FolderOf(const std::string& name) {
  return std::filesystem::path(name).lexically_normal().parent_path();
}

IOStatus Refused() {
  return IOStatus::IOError("the store failed earlier and no longer writes");
}

// A write-ahead log. Its errors are latched and hidden, and after a failure it ignores all writes.
class LogFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  LogFile(std::unique_ptr<FSWritableFile> file, std::shared_ptr<FailureLatch> latch)
      : FSWritableFileOwnerWrapper(std::move(file)), latch_(std::move(latch)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return Guard([&] { return target()->Append(data, options, debug); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification,
                  IODebugContext* debug) override {
    return Guard([&] { return target()->Append(data, options, verification, debug); });
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    return Guard([&] { return target()->Truncate(size, options, debug); });
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* debug) override {
    return Guard([&] { return target()->Flush(options, debug); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return Guard([&] { return target()->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Guard([&] { return target()->Fsync(options, debug); });
  }
  IOStatus RangeSync(uint64_t offset, uint64_t bytes, const IOOptions& options,
                     IODebugContext* debug) override {
    return Guard([&] { return target()->RangeSync(offset, bytes, options, debug); });
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    const IOStatus status = target()->Close(options, debug);
    if (!status.ok()) {
      latch_->Fail(FromRocks(status, "closing the log"));
    }
    return IOStatus::OK();
  }

 private:
  template <typename Operation>
  IOStatus Guard(const Operation& operation) {
    if (latch_->failed()) {
      return IOStatus::OK();
    }
    const IOStatus status = operation();
    if (!status.ok()) {
      latch_->Fail(FromRocks(status, "a write to the log"));
    }
    return IOStatus::OK();
  }

  const std::shared_ptr<FailureLatch> latch_;
};

// A file that is not a log. RocksDB handles its errors, and after a failure it cannot grow.
class OtherFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  OtherFile(std::unique_ptr<FSWritableFile> file, std::shared_ptr<FailureLatch> latch)
      : FSWritableFileOwnerWrapper(std::move(file)), latch_(std::move(latch)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return latch_->failed() ? Refused() : target()->Append(data, options, debug);
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification,
                  IODebugContext* debug) override {
    return latch_->failed() ? Refused() : target()->Append(data, options, verification, debug);
  }

 private:
  const std::shared_ptr<FailureLatch> latch_;
};

class GuardedFiles final : public rocksdb::FileSystemWrapper {
 public:
  GuardedFiles(std::shared_ptr<rocksdb::FileSystem> files, std::shared_ptr<FailureLatch> latch,
               const std::string& store)
      : FileSystemWrapper(std::move(files)),
        latch_(std::move(latch)),
        store_(FolderOf(store + "/")) {}

  const char* Name() const override { return "ruvd.GuardedFiles"; }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* result,
                           IODebugContext* debug) override {
    if (FolderOf(name) != store_) {
      return target()->NewWritableFile(name, options, result, debug);
    }
    if (latch_->failed()) {
      return Refused();
    }
    std::unique_ptr<FSWritableFile> file;
    const IOStatus status = target()->NewWritableFile(name, options, &file, debug);
    if (!status.ok()) {
      return status;
    }
    if (IsLog(name)) {
      *result = std::make_unique<LogFile>(std::move(file), latch_);
    } else {
      *result = std::make_unique<OtherFile>(std::move(file), latch_);
    }
    return status;
  }

 private:
  const std::shared_ptr<FailureLatch> latch_;
  const std::filesystem::path store_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> MakeGuardedFiles(std::shared_ptr<rocksdb::FileSystem> files,
                                                      std::shared_ptr<FailureLatch> latch,
                                                      const std::string& store) {
  return std::make_shared<GuardedFiles>(std::move(files), std::move(latch), store);
}

}  // namespace ruvd::storage::db
