// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace ruvd {

// Keeps other processes, and other holders in this one, from changing files of a folder at the same
// time, as long as they take this lock, too. It makes no file, and a process that dies lets go. It
// can be moved.
class FolderLock {
 public:
  // Waits for the lock if `waits`; else returns STORE_LOCKED where it is held. A folder that
  // cannot be opened is FILE_UNREADABLE.
  static absl::StatusOr<FolderLock> Take(const std::string& folder, bool waits);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace ruvd
