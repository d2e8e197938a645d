// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/file_system.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace ruvd::storage {

// A file system that calls a test's hook before it makes or writes a file. The hook runs on
// RocksDB's threads.
class HookedFiles final : public rocksdb::FileSystemWrapper {
 public:
  using Hook = std::function<rocksdb::IOStatus(const std::string& name)>;
  HookedFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "ruvd.HookedFiles"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    if (before_new) {
      if (rocksdb::IOStatus status = before_new(name); !status.ok()) {
        return status;
      }
    }
    std::unique_ptr<rocksdb::FSWritableFile> file;
    rocksdb::IOStatus status = target()->NewWritableFile(name, options, &file, debug);
    if (status.ok()) {
      *result = std::make_unique<File>(std::move(file), name, before_write);
    }
    return status;
  }

  Hook before_new;    // set before it can be called
  Hook before_write;  // for files that are made later

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile> file, std::string name, Hook hook)
        : FSWritableFileOwnerWrapper(std::move(file)),
          name_(std::move(name)),
          hook_(std::move(hook)) {}
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
      rocksdb::IOStatus status = Ask();
      return status.ok() ? target()->Append(data, options, debug) : status;
    }
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             const rocksdb::DataVerificationInfo& verification,
                             rocksdb::IODebugContext* debug) override {
      rocksdb::IOStatus status = Ask();
      return status.ok() ? target()->Append(data, options, verification, debug) : status;
    }
    rocksdb::IOStatus Close(const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* debug) override {
      rocksdb::IOStatus status = Ask();
      rocksdb::IOStatus closed = target()->Close(options, debug);
      return status.ok() ? closed : status;
    }

   private:
    rocksdb::IOStatus Ask() const { return hook_ ? hook_(name_) : rocksdb::IOStatus::OK(); }
    const std::string name_;
    const Hook hook_;
  };
};

}  // namespace ruvd::storage
