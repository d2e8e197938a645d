// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
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

// Opens a file for reading. A pipe or a device is opened at once, so that it can be refused:
// without O_NONBLOCK a pipe would wait for a writer. Regular files ignore the flag.
FileDescriptor OpenToRead(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
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

// Returns the path of the file that `path` names; the file need not exist yet. Symbolic links are
// followed, because the file they point to is replaced and not the link.
absl::StatusOr<std::string> RegularTarget(const std::string& path) {
  constexpr int kMaxLinks = 40;  // Linux's own limit
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status followed = fs::status(path, error);
  if (fs::exists(followed) && !fs::is_regular_file(followed)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
                 "{} is not a regular file and would be replaced by one; name a file", path);
  }
  fs::path target(path);
  for (int links = 0; links < kMaxLinks; ++links) {
    if (!fs::is_symlink(fs::symlink_status(target, error))) {
      return target.string();
    }
    const fs::path link = fs::read_symlink(target, error);
    if (error) {
      return FileWriteError(path, error.value());
    }
    target = target.parent_path() / link;  // operator/ keeps only `link` if that is absolute
  }
  return FileWriteError(path, ELOOP);
}

// Creates a new file in the folder of `target`. Temporary files that a crash left behind are not
// touched.
absl::StatusOr<int> OpenTemporary(const std::string& target, uint32_t mode,
                                  std::string* temporary) {
  constexpr int kMaxTries = 100;
  static std::atomic<uint64_t> counter{0};
  int error = EEXIST;
  for (int i = 0; i < kMaxTries && error == EEXIST; ++i) {
    *temporary = fmt::format("{}.tmp.{}.{}", target, ::getpid(), counter++);
    const int fd =
        ::open(temporary->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd >= 0) {
      return fd;
    }
    error = errno;
  }
  return FileWriteError(target, error);
}

}  // namespace

absl::Status FileWriteError(const std::string& path, int error) {
  if (error == ENOSPC || error == EDQUOT) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kDiskFull,
                 "no space left to write {}; free disk space and try again", path);
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
               "cannot write {}: {}; check the folder and its permissions", path, ErrorText(error));
}

absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t max_bytes) {
  const FileDescriptor fd = OpenToRead(path);
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
      break;  // the file shrank while we read it
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
  ASSIGN_OR_RETURN(std::string target, RegularTarget(path));
  std::string temporary;
  ASSIGN_OR_RETURN(const int fd, OpenTemporary(target, mode, &temporary));
  return std::unique_ptr<AtomicFile>(new AtomicFile(std::move(target), std::move(temporary), fd));
}

absl::Status AtomicFile::Append(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return FileWriteError(path_, errno);
    }
    size_ += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  if (::fsync(fd_) != 0) {
    return FileWriteError(path_, errno);
  }
  if (::close(std::exchange(fd_, -1)) != 0) {
    return FileWriteError(path_, errno);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return FileWriteError(path_, errno);
  }
  temporary_.clear();
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  FileDescriptor directory(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) {
    return FileWriteError(path_, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::Open(const std::string& path) {
  const FileDescriptor fd = OpenToRead(path);
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
