// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/train/ewc.h"
#include "node/learning/learning_services.h"
#include "storage/state/state_store.h"

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

// The stored form. FromStored returns INVALID_ARGUMENT for a message with too many responses or
// numbers, a number that is not finite or a negative Fisher.
storage::v1::DeepMemory ToStored(const DeepMemory& memory);
absl::StatusOr<DeepMemory> FromStored(storage::v1::DeepMemory stored);

// The memories of a node's versions in the node's state. Not thread-safe.
class DeepMemories {
 public:
  // `state` must outlive this object.
  explicit DeepMemories(storage::StateStore& state) : state_(state) {}

  // Replaces the version's memory. Returns LIMIT_EXCEEDED above limits::kMaxDeepMemoryBytes, and
  // the errors of StateStore::Put.
  absl::Status Store(const DeepMemory& memory) const;
  // Returns nullopt if there is no usable memory. A damaged memory is removed with a warning; one
  // that cannot be read now stays.
  std::optional<DeepMemory> Find(uint32_t version) const;
  // Removes the memories of versions that are not `wanted`, and those that name a lesson that is no
  // longer in its store.
  void Sweep(const std::function<bool(uint32_t version)>& wanted,
             const LearningServices& services) const;

 private:
  void Remove(uint32_t version) const;

  storage::StateStore& state_;
};

}  // namespace ruvd::learning
