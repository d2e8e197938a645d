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
// file and place, and a last frame with the count. docs/store-format.md describes the bytes.
namespace ruvd::storage {

// The content of an archive's last frame.
struct WitnessArchiveSummary {
  uint64_t entries = 0;
  std::string first_key;  // keys of the records, see storage/witness/witness_rows.h
  std::string last_key;
};

using ArchiveId = std::array<uint8_t, 16>;

// Writes one archive. The file gets its name when Commit has fsynced it. Not thread-safe.
class WitnessArchiveWriter {
 public:
  // `key` is shared with the writer. All methods return FILE_UNWRITABLE or DISK_FULL on failure.
  static absl::StatusOr<std::unique_ptr<WitnessArchiveWriter>> Create(const std::string& path,
                                                                      privacy::SealKey key);
  // Adds an entry; entries must come in ascending order of `record_key`.
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
  std::string entries_;  // entries of the frame that is being filled
  uint32_t frames_ = 0;
  WitnessArchiveSummary summary_;
};

// Shows every entry of an archive in order until the callback returns an error, and checks that the
// file is complete. Returns SEAL_BROKEN when it was cut, changed or made with another key, and
// STORE_CORRUPT when its contents do not decode. Entries shown before an error are authentic.
using ArchiveCallback = std::function<absl::Status(const WitnessEntry& entry)>;
absl::StatusOr<WitnessArchiveSummary> ReadWitnessArchive(const std::string& path,
                                                         const privacy::SealKey& key,
                                                         const ArchiveCallback& callback);

// Reads an archive like ReadWitnessArchive, from the bytes of a file.
absl::StatusOr<WitnessArchiveSummary> ReadWitnessArchiveBytes(std::span<const uint8_t> bytes,
                                                              const privacy::SealKey& key,
                                                              const ArchiveCallback& callback);

}  // namespace ruvd::storage
