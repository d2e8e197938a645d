// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/campaign/full_disk_files.h"

#include <algorithm>
#include <utility>

namespace ruvd::campaign {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class BoundedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  BoundedFile(FullDiskFiles& disk, std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    const uint64_t fits = disk_.Take(data.size());
    const IOStatus status = target()->Append(Slice(data.data(), fits), options, debug);
    return status.ok() && fits < data.size() ? disk_.Refuse() : status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& /*verification*/,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return SyncFails() ? disk_.Refuse() : target()->Sync(options, debug);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return SyncFails() ? disk_.Refuse() : target()->Fsync(options, debug);
  }

 private:
  // Delayed allocation reports a full disk at fsync; here it does so every third time.
  bool SyncFails() { return disk_.Full() && disk_.refused() % 3 == 2; }

  FullDiskFiles& disk_;
};

}  // namespace

uint64_t FullDiskFiles::Take(uint64_t bytes) {
  if (free_.load()) {
    return bytes;
  }
  uint64_t left = left_.load();
  while (!left_.compare_exchange_weak(left, left - std::min(left, bytes))) {
  }
  return std::min(left, bytes);
}

IOStatus FullDiskFiles::Refuse() {
  refused_.fetch_add(1);
  return IOStatus::NoSpace("the disk is full");
}

IOStatus FullDiskFiles::NewWritableFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result,
                                        IODebugContext* debug) {
  if (Full() && refused() % 2 == 1) {
    return Refuse();
  }
  std::unique_ptr<rocksdb::FSWritableFile> file;
  const IOStatus status = target()->NewWritableFile(name, options, &file, debug);
  if (status.ok()) {
    *result = std::make_unique<BoundedFile>(*this, std::move(file));
  }
  return status;
}

}  // namespace ruvd::campaign
