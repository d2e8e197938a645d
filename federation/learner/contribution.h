// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "federation/daf/banked_values.h"
#include "federation/daf/timestep_histogram.h"
#include "federation/learner/plan.h"
#include "privacy/masking/clique.h"

namespace ruvd::federation {

// What one node, or one masked clique, says in one round. All tiers use this format.
struct Contribution {
  // The noise that the sender says it added, for the outer optimiser's correction: none, that of
  // the plan's grid, or shares of it that add up to that. A lie changes the correction only.
  enum class Noise : uint8_t { kNone = 0, kWhole = 1, kShares = 2 };

  Digest plan{};
  uint64_t round = 0;  // at least 1
  // Round of the global state (GlobalState::round) that it was made from, below `round`. A fresh
  // contribution was made from the state after the round before its own
  uint64_t base_round = 0;
  Digest base{};  // digest of that state: shown, not enforced
  // What was trained on; in private tiers the plan's. Its shares add up to kScheduleUnit
  TimestepHistogram schedule{};
  uint32_t members = 1;  // kMinCliqueMembers to kMaxCliqueMembers for the sum of a clique
  Noise noise = Noise::kNone;
  std::vector<uint32_t> banks;  // ascending; a bank that was not trained is absent
  // The values of these banks, bank by bank. A delta has floats. A gradient has units, and its
  // value i is units[i] * 2^grid.exponent / (members * nominal_batch) of the plan.
  std::vector<float> floats;
  std::vector<int32_t> units;

  bool operator==(const Contribution&) const = default;
};

// Returns PLAN_MISMATCH for another plan. Returns UPDATE_INVALID for a round after `now_round`, a
// base that is not before the round or more than `window` rounds older, banks, values or a schedule
// of another form than the plan's, values that are not finite, and noise or members that the kind
// does not have. A norm above plan.max_norm is no error: ApplyRound scales it.
absl::Status CheckContribution(const Contribution& contribution, const LearnerPlan& plan,
                               uint64_t now_round);

// Encodes a contribution, which must pass CheckContribution. docs/wire-format.md has the bytes.
std::string EncodeContribution(const Contribution& contribution, const LearnerPlan& plan);
// Decodes a contribution. Returns PLAN_MISMATCH for another plan, and UPDATE_INVALID for bytes that
// EncodeContribution does not make. Sizes are checked before memory is allocated, which stays below
// twice the size of the input plus 256 bytes.
absl::StatusOr<Contribution> DecodeContribution(std::span<const uint8_t> bytes,
                                                const LearnerPlan& plan);

// Returns the values by bank of the plan; an absent bank is empty. Must pass CheckContribution.
BankedValues ValuesOf(const Contribution& contribution, const LearnerPlan& plan);

// Returns the variance of the noise in each value; 0 where the sender added none.
double NoiseVarianceOf(const Contribution& contribution, const LearnerPlan& plan);

// Returns the sum of a clique in a round as a contribution of all banks, made from the state after
// the round before. `units` are the sum, bank by bank. Returns the errors of CheckContribution.
absl::StatusOr<Contribution> ContributionOfSum(const LearnerPlan& plan, uint64_t round,
                                               std::span<const int32_t> units, uint32_t members);

// Returns the layout of such sums: the values of all banks of the plan on its grid, with a third of
// the members, rounded up, as colluders. It names the plan, so that nodes of different plans add up
// nothing.
privacy::masking::MaskLayout LayoutOfSums(const LearnerPlan& plan);

}  // namespace ruvd::federation
