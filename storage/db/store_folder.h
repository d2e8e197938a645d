// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::storage::db {

// Creates the folder with mode 0700 if it is missing. Returns FILE_UNWRITABLE on failure.
absl::Status CreateStoreFolder(const std::string& path);

// The name of the file in a store's folder that locks it.
inline constexpr char kLockFile[] = "ruvd.lock";

// Holds the store's folder for one process at a time (flock on a file in it). The lock is released
// when this object is destroyed or the process dies. RocksDB has such a lock too, but reports it
// only as text.
class FolderLock {
 public:
  // Returns STORE_LOCKED when this or another process already holds the lock.
  static absl::StatusOr<std::unique_ptr<FolderLock>> Acquire(const std::string& path);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace ruvd::storage::db
