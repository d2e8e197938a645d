// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/daf/reputation.h"
#include "privacy/seal/seal.h"

namespace ruvd::sharing {

// The encoding as bytes, little endian:
//   "RVRP", u32 format 1, u32 peers, ascending; each: 32 bytes id, f64 helped, f64 harmed,
//   32 bytes hash of the last update, f64 helped and f64 harmed of that.
std::string EncodeReputations(std::span<const federation::ReputationTable::Known> known);
// Decodes the bytes. Lengths are checked before memory is allocated; invalid bytes are
// INVALID_ARGUMENT. ReputationTable::Restore checks the values.
absl::StatusOr<std::vector<federation::ReputationTable::Known>> DecodeReputations(
    std::span<const uint8_t> bytes);

// The sealed file that keeps a node's verdicts on its peers across restarts. Without it a harmful
// peer would start again with a clean record. Not thread-safe.
class ReputationFile {
 public:
  // A file without a key keeps nothing.
  ReputationFile() = default;
  ReputationFile(std::string path, privacy::SealKey key)
      : path_(std::move(path)), key_(std::move(key)) {}

  // Returns an empty list if there is no file. SEAL_BROKEN means that it is damaged or belongs to
  // another store. Other errors are those of reading and of DecodeReputations.
  absl::StatusOr<std::vector<federation::ReputationTable::Known>> Load() const;
  // Replaces the file atomically. Returns FILE_UNWRITABLE or DISK_FULL.
  absl::Status Keep(std::span<const federation::ReputationTable::Known> known) const;

 private:
  std::string path_;
  std::optional<privacy::SealKey> key_;
};

}  // namespace ruvd::sharing
