// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "federation/learner/round_set.h"

namespace ruvd::federation {

// Applies the outer steps of the rounds after checkpoint.round up to `until`, in their order, to
// the contributions of `set`; later ones have no effect. This is a pure function: equal plan,
// checkpoint and set give equal bits on every machine, whatever the order of the set. It knows no
// own update, reputation, measurement or gate.
//
// In one round, a contribution of each origin counts, the one with the lowest id; a node in a sum
// does not count again by itself; of sums that share a member, the one with the lowest attempt
// counts; and at most kMaxContributions count, those with the lowest SHA-256(round u64 + origin).
// Each is scaled to plan.max_norm and has the weight of the plan's strategy. A masked sum has one
// vote, as a single node has, whatever its members: one of them that lies chooses the sum. A bank
// without contributions is not moved, not even by momentum.
// A round has a quorum if the share plan.quorum of the nodes with a part in the plan.window rounds
// before it contributed to it, or limits::kLargestQuorum of them. With fewer it makes a step that
// is shorter in proportion, in all banks. A verdict is a part, too, but only those who contribute
// make the quorum, whatever their weights.
//
// A member is left out by removing its contributions, the sums with it, and its verdicts from the
// set. Returns INVALID_ARGUMENT for a plan or a checkpoint that is not valid, or an `until` before
// the checkpoint; ROUND_SEALED for a part of the set at or before the checkpoint; and the errors of
// CheckRoundContribution and CheckRoundVerdict. `reports` gets one for each round with
// contributions.
absl::StatusOr<GlobalState> ApplyRounds(const LearnerPlan& plan, const GlobalState& checkpoint,
                                        const RoundSet& set, uint64_t until,
                                        std::vector<RoundReport>* reports = nullptr);

}  // namespace ruvd::federation
