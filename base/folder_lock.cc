// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder, bool waits) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return Error(absl::StatusCode::kNotFound, reasons::kFileUnreadable,
                 "the folder {} cannot be opened ({}); check the path and its mode", folder,
                 std::strerror(errno));
  }
  FolderLock lock(fd);
  int result = 0;
  do {
    result = ::flock(fd, LOCK_EX | (waits ? 0 : LOCK_NB));
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    return Error(absl::StatusCode::kUnavailable, reasons::kStoreLocked,
                 "another process changes the files of {}; run the command again when it has ended",
                 folder);
  }
  return lock;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

}  // namespace ruvd
