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
#include <utility>

#include "base/bytes.h"
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
  ASSIGN_OR_RETURN(const auto file, AtomicFile::Create(path, mode));
  RETURN_IF_ERROR(file->Append(AsBytes(contents)));
  return file->Commit();
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
  }
}

absl::StatusOr<std::unique_ptr<AtomicFile>> AtomicFile::Create(const std::string& path,
                                                               uint32_t mode) {
  std::string temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) {
    return WriteError(path, errno);
  }
  return std::unique_ptr<AtomicFile>(new AtomicFile(path, std::move(temporary), fd));
}

absl::Status AtomicFile::Append(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return WriteError(path_, errno);
    }
    size_ += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  if (::fsync(fd_) != 0) {
    return WriteError(path_, errno);
  }
  if (::close(std::exchange(fd_, -1)) != 0) {
    return WriteError(path_, errno);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return WriteError(path_, errno);
  }
  temporary_.clear();
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  FileDescriptor directory(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) {
    return WriteError(path_, errno);
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
