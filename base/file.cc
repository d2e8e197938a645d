// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string ErrorText(int error) {
  return std::strerror(error);
}

absl::Status OpenError(const std::string& path, int error) {
  if (error == ENOENT) {
    return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                 "file {} does not exist; check the path", path);
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnreadable,
               "cannot open {}: {}; check its permissions", path, ErrorText(error));
}

absl::Status WriteError(const std::string& path, int error) {
  if (error == ENOSPC || error == EDQUOT) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kDiskFull,
                 "no space left to write {}; free disk space and try again", path);
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
               "cannot write {}: {}; check the folder and its permissions", path, ErrorText(error));
}

absl::StatusOr<uint64_t> RegularFileSize(const std::string& path, int fd) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) {
    return OpenError(path, errno);
  }
  if (!S_ISREG(info.st_mode)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnreadable,
                 "{} is not a regular file; name a file", path);
  }
  return static_cast<uint64_t>(info.st_size);
}

absl::Status WriteAndSync(const std::string& path, int fd, std::string_view contents) {
  size_t written = 0;
  while (written < contents.size()) {
    const ssize_t n = ::write(fd, contents.data() + written, contents.size() - written);
    if (n < 0) {
      if (errno == EINTR) {
        continue;
      }
      return WriteError(path, errno);
    }
    written += static_cast<size_t>(n);
  }
  return ::fsync(fd) == 0 ? absl::OkStatus() : WriteError(path, errno);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t max_bytes) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    return OpenError(path, errno);
  }
  ASSIGN_OR_RETURN(const uint64_t size, RegularFileSize(path, fd.get()));
  if (size > max_bytes) {
    return Error(absl::StatusCode::kOutOfRange, reasons::kLimitExceeded,
                 "{} has {} bytes, more than the limit of {}", path, size, max_bytes);
  }
  std::string contents(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd.get(), contents.data() + done, size - done);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return OpenError(path, errno);
    }
    if (n == 0) {
      break;  // shrank while we read it
    }
    done += static_cast<size_t>(n);
  }
  contents.resize(done);
  return contents;
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view contents,
                                 uint32_t mode) {
  const std::string temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  {
    FileDescriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
    if (fd.get() < 0) {
      return WriteError(path, errno);
    }
    if (absl::Status status = WriteAndSync(path, fd.get(), contents); !status.ok()) {
      ::unlink(temporary.c_str());
      return status;
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return WriteError(path, error);
  }
  std::string folder = std::filesystem::path(path).parent_path().string();
  FileDescriptor directory(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) {
    return WriteError(path, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Open(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    return OpenError(path, errno);
  }
  ASSIGN_OR_RETURN(const uint64_t size, RegularFileSize(path, fd.get()));
  if (size == 0) {  // mmap refuses a length of zero
    return std::unique_ptr<MappedFile>(new MappedFile({}));
  }
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) {
    return OpenError(path, errno);
  }
  return std::unique_ptr<MappedFile>(new MappedFile({static_cast<const uint8_t*>(data), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace ruvd
