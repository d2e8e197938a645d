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

// The whole of a file of at most `max_bytes`; a larger one is an error before anything is
// allocated.
absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t max_bytes);

// What a failed write of `path` means, by errno: DISK_FULL or FILE_UNWRITABLE.
absl::Status FileWriteError(const std::string& path, int error);

// Writes `contents` to a temporary file beside `path`, fsyncs it, renames it over `path` and fsyncs
// the folder: after a crash the file holds either the old or the new contents. `mode` as in
// chmod(2). A symbolic link stays and the file behind it is replaced; what exists and is no regular
// file (a device, a pipe, a folder) is refused with FILE_UNWRITABLE. A full disk gives
// kResourceExhausted with reason DISK_FULL, and the old file stays.
absl::Status WriteFileAtomically(const std::string& path, std::string_view contents,
                                 uint32_t mode = 0644);

// A file written piece by piece that appears under its name only when it is whole: the pieces go to
// a temporary file beside it, which Commit renames and the destructor otherwise removes. Not
// thread-safe.
class AtomicFile {
 public:
  // Errors here and below: FILE_UNWRITABLE, DISK_FULL. After one, destroy the object. Links and
  // what is no regular file as in WriteFileAtomically.
  static absl::StatusOr<std::unique_ptr<AtomicFile>> Create(const std::string& path,
                                                            uint32_t mode = 0644);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  absl::Status Append(std::span<const uint8_t> bytes);
  // Fsyncs the file, renames it over the name and fsyncs the folder. At most once.
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

// A read-only memory map of a whole file. Movable through its unique_ptr only; the bytes live as
// long as it. A file that is truncated by somebody else while mapped makes reads fault (SIGBUS):
// model files are replaced by rename, never rewritten in place.
class MappedFile {
 public:
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
