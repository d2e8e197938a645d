// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "privacy/seal/seal.h"
#include "storage/witness/witness_entry.h"

// Files of expired witness entries: frames of zstd-compressed entries, each sealed and bound to its
// file and place, and a last frame with the count. docs/store-format.md has the bytes.
namespace ruvd::storage {

// What an archive says of itself in its last frame.
struct WitnessArchiveSummary {
  uint64_t entries = 0;
  std::string first_key;  // of the records, see storage/witness/witness_rows.h
  std::string last_key;
};

using ArchiveId = std::array<uint8_t, 16>;

// Writes one archive; it appears under its name when Commit has fsynced it. Not thread-safe.
class WitnessArchiveWriter {
 public:
  // `key` is shared with the writer. FILE_UNWRITABLE, DISK_FULL, here and below.
  static absl::StatusOr<std::unique_ptr<WitnessArchiveWriter>> Create(const std::string& path,
                                                                      privacy::SealKey key);
  // In ascending order of `record_key`.
  absl::Status Add(std::string_view record_key, const WitnessEntry& entry);
  absl::Status Commit();

 private:
  WitnessArchiveWriter(std::unique_ptr<AtomicFile> file, privacy::SealKey key, const ArchiveId& id)
      : file_(std::move(file)), key_(std::move(key)), id_(id) {}
  absl::Status WriteFrame(uint8_t kind, std::string_view payload);
  absl::Status FlushEntries();

  std::unique_ptr<AtomicFile> file_;
  const privacy::SealKey key_;
  const ArchiveId id_;
  std::string entries_;  // of the frame being filled
  uint32_t frames_ = 0;
  WitnessArchiveSummary summary_;
};

// Shows every entry of an archive in order until the callback returns an error, and checks that the
// file is whole: SEAL_BROKEN where it was cut, altered or made with another key, STORE_CORRUPT
// where its contents do not decode. What was shown before an error is authentic nevertheless.
using ArchiveCallback = std::function<absl::Status(const WitnessEntry& entry)>;
absl::StatusOr<WitnessArchiveSummary> ReadWitnessArchive(const std::string& path,
                                                         const privacy::SealKey& key,
                                                         const ArchiveCallback& callback);

// The same over the bytes of a file.
absl::StatusOr<WitnessArchiveSummary> ReadWitnessArchiveBytes(std::span<const uint8_t> bytes,
                                                              const privacy::SealKey& key,
                                                              const ArchiveCallback& callback);

}  // namespace ruvd::storage
