// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/db/store_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage::db {
namespace {

absl::Status Unwritable(const std::string& path, std::string_view cause) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
               "cannot create the store in {}: {}; check the data folder and its permissions", path,
               cause);
}

}  // namespace

absl::Status CreateStoreFolder(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::OkStatus();
  }
  std::filesystem::create_directories(path, error);
  if (error) {
    return Unwritable(path, error.message());
  }
  if (::chmod(path.c_str(), 0700) != 0) {
    return Unwritable(path, std::strerror(errno));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FolderLock>> FolderLock::Acquire(const std::string& path) {
  const std::string file = path + "/" + kLockFile;
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Unwritable(path, std::strerror(errno));
  }
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd);
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kStoreLocked,
        "the store in {} is in use by a running ruvd; stop that node (Ctrl-C or SIGTERM) and "
        "try again, or choose another data folder",
        path);
  }
  return std::unique_ptr<FolderLock>(new FolderLock(fd));
}

FolderLock::~FolderLock() {
  ::close(fd_);
}

}  // namespace ruvd::storage::db
