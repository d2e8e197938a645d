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
#include "federation/learner/plan.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// What one member measured of the contributions of one round, each alone, on its own held-out
// lessons. A plan with CountsQuality counts it; a verdict of other plans has no effect.
struct Verdict {
  uint64_t round = 0;  // of the contributions; at least 1
  // By the id of the contribution's item: gains by bank of the plan, in nats per token; above 0 is
  // better. 1 to limits::kMaxContributions
  std::map<Digest, std::vector<float>> gains;

  bool operator==(const Verdict&) const = default;
};

// Returns the place of a contribution in the order in which a member judges those of a round; only
// limits::kMaxJudgedContributions with the lowest places count.
Digest VerdictDraw(const privacy::NodeId& judge, const Digest& contribution);

// Returns UPDATE_INVALID for a round of 0 or after `now_round`, no gains or too many, gains that
// are not one for each bank, or are not finite.
absl::Status CheckVerdict(const Verdict& verdict, const LearnerPlan& plan, uint64_t now_round);

// Encodes a verdict, which must pass CheckVerdict. docs/wire-format.md has the bytes.
std::string EncodeVerdict(const Verdict& verdict, const LearnerPlan& plan);
// Decodes a verdict. Returns PLAN_MISMATCH for another plan, and UPDATE_INVALID for bytes that
// EncodeVerdict does not make. Sizes are checked before memory is allocated.
absl::StatusOr<Verdict> DecodeVerdict(std::span<const uint8_t> bytes, const LearnerPlan& plan);

}  // namespace ruvd::federation
