// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::storage::db {

// A statement about the disk: every change up to `sequence` (RocksDB's number) was fsynced.
struct HighWater {
  uint64_t counter = 0;  // grows with every write of the file
  uint64_t sequence = 0;
  bool clean = false;  // the store was closed, and `sequence` is its last change
  bool operator==(const HighWater&) const = default;
};

inline constexpr size_t kHighWaterSlotBytes = 48;
// Slots are this far apart, so that no torn sector or page damages both.
inline constexpr size_t kHighWaterSlotSpacing = 4096;
inline constexpr char kHighWaterFile[] = "high-water";

// A slot is "RUVDHWM1" | u64 counter | u64 sequence | u64 flags (1 clean) | the first 16 bytes of
// the SHA-256 of all bytes before.
std::string EncodeHighWater(const HighWater& mark);
std::optional<HighWater> DecodeHighWater(std::string_view slot);

// The file "high-water" beside RocksDB's files. It has two slots, and the one fsynced last is never
// overwritten next. Point-in-time recovery silently drops what follows damage inside the log; the
// mark tells how much should have been there. Not thread-safe.
class HighWaterFile {
 public:
  struct Opened {
    std::unique_ptr<HighWaterFile> file;  // null when there is no such file
    std::optional<HighWater> mark;        // the newest intact slot; nothing: damaged
  };
  // Fsyncs the slots it found: the slot that a killed process left unsynced may be the newest, and
  // the next write goes to the other one.
  static absl::StatusOr<Opened> Open(rocksdb::FileSystem& files, const std::string& folder);
  // Creates or replaces the file with a mark of change 0 and fsyncs it.
  static absl::StatusOr<std::unique_ptr<HighWaterFile>> Create(rocksdb::FileSystem& files,
                                                               const std::string& folder);

  // Overwrites the other slot. The write survives the process; with `sync` it survives a power cut
  // too.
  absl::Status Write(uint64_t sequence, bool clean, bool sync);

 private:
  HighWaterFile(std::unique_ptr<rocksdb::FSRandomRWFile> file, uint64_t counter, size_t slot)
      : file_(std::move(file)), counter_(counter), slot_(slot) {}

  std::unique_ptr<rocksdb::FSRandomRWFile> file_;
  uint64_t counter_;
  size_t slot_;  // the next slot to write
};

}  // namespace ruvd::storage::db
