// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/daf/banked_values.h"
#include "federation/daf/outer_optimizer.h"
#include "federation/daf/running_mean.h"
#include "federation/learner/plan.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// The global adapter of a cluster after all rounds up to and including `round`, with all that later
// rounds need. Nodes that hold the same contributions have equal states, bit for bit.
struct GlobalState {
  uint64_t round = 0;
  BankedValues values;                            // of every bank of the plan
  std::vector<OuterOptimizer::State> optimizers;  // by bank
  // The newest round in which a node had a part, by itself, in a sum or as a judge. It holds the
  // kMaxParticipants that took part last, so that a node knows which states a member is part of.
  std::map<privacy::NodeId, uint64_t> last_part;

  // By bank: what nodes gave in the rounds before, for a rule that uses it (uses_past), folded to
  // the plan's RunningMeanValues. A sum tells nothing of a single node. It holds the
  // kMaxRunningMeans nodes that gave last, of equal ones those with the greatest ids, and none that
  // gave nothing for a window. The others are judged by single rounds alone.
  std::vector<std::map<privacy::NodeId, RunningMean>> running_means;

  // Returns the SHA-256 over "RUVDLLM-STATE-v1\0" and EncodeState.
  Digest DigestOf(const LearnerPlan& plan) const;
  bool operator==(const GlobalState&) const = default;
};

// Returns the state before the first round of a cluster, with values of zero and `before_round` - 1
// as its round. `plan` must pass Check, and `before_round` is at least 1.
GlobalState EmptyState(const LearnerPlan& plan, uint64_t before_round);

// Returns INVALID_ARGUMENT for banks, values, optimisers or participants that no rounds of the plan
// give.
absl::Status CheckState(const GlobalState& state, const LearnerPlan& plan);

// Encodes a state, which must pass CheckState. docs/wire-format.md has the bytes.
std::string EncodeState(const GlobalState& state, const LearnerPlan& plan);
// Decodes a state. Returns PLAN_MISMATCH for another plan, and INVALID_ARGUMENT for bytes that
// EncodeState does not make. Sizes are checked before memory is allocated.
absl::StatusOr<GlobalState> DecodeState(std::span<const uint8_t> bytes, const LearnerPlan& plan);

}  // namespace ruvd::federation
