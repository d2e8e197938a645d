// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace ruvd::campaign {

// A disk that is full from the n-th byte on until Free() is called: appends end in the middle with
// ENOSPC, and new files and fsyncs fail now and then.
class FullDiskFiles final : public rocksdb::FileSystemWrapper {
 public:
  explicit FullDiskFiles(uint64_t bytes)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), left_(bytes) {}

  void Free() { free_.store(true); }
  uint64_t refused() const { return refused_.load(); }

  const char* Name() const override { return "ruvd.FullDiskFiles"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;

  // Called by its files. Returns how many of `bytes` still fit.
  uint64_t Take(uint64_t bytes);
  bool Full() const { return !free_.load() && left_.load() == 0; }
  rocksdb::IOStatus Refuse();

 private:
  std::atomic<uint64_t> left_;
  std::atomic<bool> free_{false};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace ruvd::campaign
