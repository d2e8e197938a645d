// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"

namespace ruvd::learning {

// The state of an interrupted deep round: its lessons and its progress.
struct DeepCheckpoint {
  uint64_t seed = 0;
  uint32_t version = 0;                // the version that it will publish
  uint32_t base = 0;                   // the version that it started from; 0: none
  std::vector<std::string> taught;     // response ids, in the order of the training examples
  std::vector<std::string> held_back;  // response ids of the held-out examples
  std::string run;                     // train::TrainingRun::Checkpoint; empty: not begun
  bool operator==(const DeepCheckpoint&) const = default;
};

// Encodes a checkpoint, little endian:
//   "RVDC", u32 format 1, u64 seed, u32 version, u32 base,
//   twice: u32 count and for each u16 length and response id;
//   u64 length and the run's checkpoint.
std::string EncodeDeepCheckpoint(const DeepCheckpoint& checkpoint);
// Decodes a checkpoint; lengths are checked before anything is allocated. Returns INVALID_ARGUMENT
// for malformed bytes.
absl::StatusOr<DeepCheckpoint> DecodeDeepCheckpoint(std::span<const uint8_t> bytes);

// Seals a checkpoint into a file and replaces the file atomically, so that a kill leaves the old
// one or the new one. Returns FILE_UNWRITABLE or DISK_FULL on failure.
absl::Status WriteDeepCheckpoint(const std::string& path, const privacy::SealKey& key,
                                 const DeepCheckpoint& checkpoint);
// Returns nullopt if there is no file, SEAL_BROKEN or INVALID_ARGUMENT if it is damaged or was
// sealed by another store, and the errors of reading.
absl::StatusOr<std::optional<DeepCheckpoint>> ReadDeepCheckpoint(const std::string& path,
                                                                 const privacy::SealKey& key);
// Removes the file; a missing file is not an error.
absl::Status RemoveDeepCheckpoint(const std::string& path);

}  // namespace ruvd::learning
