// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/state/state_store.h"

namespace ruvd::learning {

// The state of an interrupted deep round: its lessons and its progress.
struct DeepCheckpoint {
  uint64_t seed = 0;
  uint32_t version = 0;                // the version that it will publish
  uint32_t base = 0;                   // the version that it started from; 0: the bare model
  std::vector<std::string> taught;     // response ids, in the order of the training examples
  std::vector<std::string> held_back;  // response ids of the held-out examples
  std::string run;                     // train::TrainingRun::Checkpoint; empty: not begun
  bool operator==(const DeepCheckpoint&) const = default;
};

// The stored form. FromStored returns INVALID_ARGUMENT for a message that no round writes.
storage::v1::DeepCheckpoint ToStored(const DeepCheckpoint& checkpoint);
absl::StatusOr<DeepCheckpoint> FromStored(storage::v1::DeepCheckpoint stored);

// Replaces the checkpoint in the node's state, so that a crash leaves the old one or the new one.
// Returns the errors of StateStore::Put.
absl::Status WriteDeepCheckpoint(storage::StateStore& state, const DeepCheckpoint& checkpoint);
// Returns nullopt if there is no checkpoint, and the errors of StateStore::Get and FromStored.
absl::StatusOr<std::optional<DeepCheckpoint>> ReadDeepCheckpoint(const storage::StateStore& state);
// Removes the checkpoint; a missing one is not an error.
absl::Status RemoveDeepCheckpoint(storage::StateStore& state);

}  // namespace ruvd::learning
