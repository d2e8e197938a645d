// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd {

// Returns the contents of a file of at most `max_bytes` bytes. Errors are FILE_NOT_FOUND,
// FILE_UNREADABLE, also for a pipe, a device or a folder, and LIMIT_EXCEEDED for a larger file,
// before memory is allocated for it.
absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t max_bytes);

// Returns the error for a failed write of `path`, chosen by the errno value `error`: DISK_FULL or
// FILE_UNWRITABLE.
absl::Status FileWriteError(const std::string& path, int error);

// Writes `contents` to a temporary file beside `path`, fsyncs it, renames it over `path` and fsyncs
// the folder: after a crash the file holds either the old or the new contents. `mode` is that of
// chmod(2). If `path` is a symbolic link, the link stays and the file it points to is replaced. If
// `path` exists and is not a regular file (a device, a pipe, a folder), the error is
// FILE_UNWRITABLE. A full disk gives kResourceExhausted with the reason DISK_FULL, and the old file
// stays.
absl::Status WriteFileAtomically(const std::string& path, std::string_view contents,
                                 uint32_t mode = 0644);

// A file that is written piece by piece and appears under its name only when it is complete. The
// pieces go to a temporary file in the same folder; Commit renames it, and without Commit the
// destructor removes it. Not thread-safe.
class AtomicFile {
 public:
  // All methods fail with FILE_UNWRITABLE or DISK_FULL; after an error only destroy the object.
  // Symbolic links and paths that are not regular files are treated as in WriteFileAtomically.
  static absl::StatusOr<std::unique_ptr<AtomicFile>> Create(const std::string& path,
                                                            uint32_t mode = 0644);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  absl::Status Append(std::span<const uint8_t> bytes);
  // Fsyncs the file, renames it over the final name and fsyncs the folder. Call it at most once.
  absl::Status Commit();
  // Bytes appended so far.
  uint64_t size() const { return size_; }

 private:
  AtomicFile(std::string path, std::string temporary, int fd);
  std::string path_;
  std::string temporary_;  // empty once committed
  int fd_;
  uint64_t size_ = 0;
};

// A read-only memory map of a whole file. The bytes are valid as long as the object. If another
// process truncates the file while it is mapped, reads fault (SIGBUS); therefore replace model
// files by rename and never rewrite them in place.
class MappedFile {
 public:
  // Errors are FILE_NOT_FOUND and FILE_UNREADABLE, also for a pipe, a device or a folder.
  static absl::StatusOr<std::unique_ptr<MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  std::span<const uint8_t> bytes_;
};

}  // namespace ruvd
