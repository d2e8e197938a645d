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

// What a version of the deep adapter hands to the round that continues from it: the anchor of EWC++
// and the importance (Fisher) of each parameter. It reveals something about the lessons that the
// Fisher was measured on, so it is removed when a user among them is erased.
struct DeepMemory {
  uint32_t version = 0;
  Digest adapter{};  // AdapterId of the version
  std::vector<std::string>
      responses;  // responses of users whose words are in it; anonymous ones are left out
  inference::train::EwcMemory ewc;  // the Fisher is rounded to f32
  bool operator==(const DeepMemory& other) const;
};

// Encodes a memory, little endian:
//   "RVDM", u32 format 1, u32 version, 32 bytes adapter,
//   u32 count and for each u16 length and response id;
//   u64 count, f32 anchor and as many f32 Fisher.
std::string EncodeDeepMemory(const DeepMemory& memory);
// Decodes a memory; lengths are checked before anything is allocated. Returns INVALID_ARGUMENT for
// malformed bytes, a value that is not finite or a negative Fisher.
absl::StatusOr<DeepMemory> DecodeDeepMemory(std::span<const uint8_t> bytes);

// The memories of a node's versions, each in a sealed file memory-VERSION of one folder. Not
// thread-safe.
class DeepMemories {
 public:
  DeepMemories(std::string folder, privacy::SealKey key)
      : folder_(std::move(folder)), key_(std::move(key)) {}

  // Replaces the version's file atomically. Returns LIMIT_EXCEEDED above
  // limits::kMaxDeepMemoryBytes, and FILE_UNWRITABLE or DISK_FULL on failure.
  absl::Status Keep(const DeepMemory& memory) const;
  // Returns nullopt if there is no usable memory. A file that is damaged or belongs to another
  // store or version is removed with a warning; a file that cannot be read stays.
  std::optional<DeepMemory> Find(uint32_t version) const;
  // Removes the memories of versions that are not `wanted`, and those that name a response that is
  // no longer in the store.
  void Sweep(const std::function<bool(uint32_t version)>& wanted,
             const storage::TrajectoryStore& trajectories) const;

 private:
  std::string PathOf(uint32_t version) const;
  std::vector<uint32_t> Versions() const;

  const std::string folder_;
  const privacy::SealKey key_;
};

}  // namespace ruvd::learning
