// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "federation/learner/round_set.h"

namespace ruvd::federation {

// Applies one outer step: the contributions of `round`, all of which passed CheckRoundContribution
// and CheckRoundVerdict, to the state before it. Rounds between state->round and `round` have no
// contributions. `report` may be null. The result depends on the set alone, not on its order.
void ApplyRound(const LearnerPlan& plan, const RoundSet& set, uint64_t round, GlobalState* state,
                RoundReport* report);

// Returns the values by bank of the plan as a round counts them: scaled down to plan.max_norm. An
// absent bank is empty. Must pass CheckContribution.
BankedValues ShortenedValuesOf(const Contribution& contribution, const LearnerPlan& plan);

}  // namespace ruvd::federation
