// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/train/ewc.h"
#include "privacy/seal/seal.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::learning {

// What a version of the deep adapter leaves to the round that goes on from it: where EWC++ holds
// the parameters, and how much each of them counts. It says something of the lessons that the
// Fisher was measured on, so it goes when a user among them is erased.
struct DeepMemory {
  uint32_t version = 0;
  Digest adapter{};                    // AdapterId of the version
  std::vector<std::string> responses;  // of users, whose words are in it; those of nobody are not
  inference::train::EwcMemory ewc;     // the Fisher rounded to f32
  bool operator==(const DeepMemory& other) const;
};

// As bytes, little endian:
//   "RVDM", u32 format 1, u32 version, 32 bytes adapter,
//   u32 count and for each u16 length and response id;
//   u64 count, f32 anchor and as many f32 Fisher.
std::string EncodeDeepMemory(const DeepMemory& memory);
// Lengths are checked before anything is allocated; INVALID_ARGUMENT for other bytes, a value that
// is not finite or a negative Fisher.
absl::StatusOr<DeepMemory> DecodeDeepMemory(std::span<const uint8_t> bytes);

// The memories of a node's versions, each a sealed file memory-VERSION in one folder. Not
// thread-safe.
class DeepMemories {
 public:
  DeepMemories(std::string folder, privacy::SealKey key)
      : folder_(std::move(folder)), key_(std::move(key)) {}

  // Replaces the version's file atomically. LIMIT_EXCEEDED above limits::kMaxDeepMemoryBytes;
  // FILE_UNWRITABLE, DISK_FULL.
  absl::Status Keep(const DeepMemory& memory) const;
  // Nullopt where there is none. What is damaged, of another store or of another version is said in
  // one warning and removed; what cannot be read stays.
  std::optional<DeepMemory> Find(uint32_t version) const;
  // Removes the memories of versions that `wanted` does not name, and those that a lesson has left
  // of whose user nothing is known any more.
  void Sweep(const std::function<bool(uint32_t version)>& wanted,
             const storage::TrajectoryStore& trajectories) const;

 private:
  std::string PathOf(uint32_t version) const;
  std::vector<uint32_t> Versions() const;

  const std::string folder_;
  const privacy::SealKey key_;
};

}  // namespace ruvd::learning
