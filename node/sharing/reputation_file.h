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

// As bytes, little endian:
//   "RVRP", u32 format 1, u32 peers, ascending; each: 32 bytes id, f64 helped, f64 harmed,
//   32 bytes hash of the last update, f64 helped and f64 harmed of that.
std::string EncodeReputations(std::span<const federation::ReputationTable::Known> known);
// Lengths are checked before anything is allocated; INVALID_ARGUMENT for other bytes. Values are
// ReputationTable::Restore's to check.
absl::StatusOr<std::vector<federation::ReputationTable::Known>> DecodeReputations(
    std::span<const uint8_t> bytes);

// Where a node's verdicts on its peers last over restarts, sealed: whoever harmed would begin as
// anybody else. Not thread-safe.
class ReputationFile {
 public:
  // Without a key nothing lasts.
  ReputationFile() = default;
  ReputationFile(std::string path, privacy::SealKey key)
      : path_(std::move(path)), key_(std::move(key)) {}

  // None where there is no file. SEAL_BROKEN where it is damaged or of another store; the errors of
  // reading and of DecodeReputations.
  absl::StatusOr<std::vector<federation::ReputationTable::Known>> Load() const;
  // Replaces the file, whole or not at all. FILE_UNWRITABLE, DISK_FULL.
  absl::Status Keep(std::span<const federation::ReputationTable::Known> known) const;

 private:
  std::string path_;
  std::optional<privacy::SealKey> key_;
};

}  // namespace ruvd::sharing
