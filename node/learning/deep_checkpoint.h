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

// A deep round that was interrupted: what it learns from, and how far it came.
struct DeepCheckpoint {
  uint64_t seed = 0;
  uint32_t version = 0;                // that it will publish
  uint32_t base = 0;                   // that it began from; 0: none
  std::vector<std::string> taught;     // response ids, in the order of the training examples
  std::vector<std::string> held_back;  // ... of the held-out ones
  std::string run;                     // train::TrainingRun::Checkpoint; empty: not begun
  bool operator==(const DeepCheckpoint&) const = default;
};

// As bytes, little endian:
//   "RVDC", u32 format 1, u64 seed, u32 version, u32 base,
//   twice: u32 count and for each u16 length and response id;
//   u64 length and the run's checkpoint.
std::string EncodeDeepCheckpoint(const DeepCheckpoint& checkpoint);
// Lengths are checked before anything is allocated; INVALID_ARGUMENT for other bytes.
absl::StatusOr<DeepCheckpoint> DecodeDeepCheckpoint(std::span<const uint8_t> bytes);

// Seals a checkpoint into a file, replacing it atomically, so that a kill leaves the old one or the
// new one. FILE_UNWRITABLE, DISK_FULL.
absl::Status WriteDeepCheckpoint(const std::string& path, const privacy::SealKey& key,
                                 const DeepCheckpoint& checkpoint);
// Nullopt where there is none. SEAL_BROKEN and INVALID_ARGUMENT where the file is damaged or of
// another store; the errors of reading.
absl::StatusOr<std::optional<DeepCheckpoint>> ReadDeepCheckpoint(const std::string& path,
                                                                 const privacy::SealKey& key);
// OK too where there is none.
absl::Status RemoveDeepCheckpoint(const std::string& path);

}  // namespace ruvd::learning
