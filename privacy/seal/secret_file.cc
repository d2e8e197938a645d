// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::privacy {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthers = S_IRWXO;
constexpr mode_t kGroup = S_IRWXG;
constexpr mode_t kGroupButReading = S_IWGRP | S_IXGRP;
constexpr char kCredentialsVariable[] = "CREDENTIALS_DIRECTORY";

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status Unreadable(const std::string& path, std::string_view what, int error) {
  if (error == ENOENT) {
    return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                 "{} {} does not exist; check the path", what, path);
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnreadable,
               "cannot read {} {}: {}; check its permissions", what, path, std::strerror(error));
}

bool IsCredential(const std::string& path) {
  const char* folder = std::getenv(kCredentialsVariable);
  return folder != nullptr && *folder != '\0' &&
         fs::path(path).lexically_normal().parent_path() ==
             (fs::path(folder) / "").lexically_normal().parent_path();
}

absl::Status CheckAccess(const std::string& path, std::string_view what, const struct stat& info) {
  const mode_t refused = kOthers | (IsCredential(path) ? kGroupButReading : kGroup);
  if ((info.st_mode & refused) != 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kKeyFileMode,
                 "{} {} has mode {:04o}, so other users may read it; run: chmod 600 {}", what, path,
                 info.st_mode & 07777, path);
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kKeyFileMode,
                 "{} {} belongs to user {}, who could read and replace it; run: chown {} {}", what,
                 path, info.st_uid, ::geteuid(), path);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadSecretFile(const std::string& path, std::string_view what) {
  // O_NONBLOCK prevents waiting for a writer if the path is a pipe.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info = {};
  if (file.get() < 0 || ::fstat(file.get(), &info) != 0) {
    return Unreadable(path, what, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return Unreadable(path, what, S_ISDIR(info.st_mode) ? EISDIR : EINVAL);
  }
  RETURN_IF_ERROR(CheckAccess(path, what, info));
  if (static_cast<uint64_t>(info.st_size) > limits::kMaxKeyFileBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "{} {} has {} bytes, at most {} are allowed; restore it from its backup", what,
                 path, info.st_size, limits::kMaxKeyFileBytes);
  }
  std::string contents(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  while (filled < contents.size()) {
    const ssize_t got = ::read(file.get(), contents.data() + filled, contents.size() - filled);
    if (got < 0 && errno != EINTR) {
      return Unreadable(path, what, errno);
    }
    if (got == 0) {
      break;
    }
    filled += got > 0 ? static_cast<size_t>(got) : 0;
  }
  contents.resize(filled);
  return contents;
}

}  // namespace ruvd::privacy
