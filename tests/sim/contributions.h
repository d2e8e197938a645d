// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "federation/learner/contribution.h"

namespace ruvd::test {

// Returns a contribution with these values to a round, made from the state after `base_round`; as
// whole units without noise where the plan is of gradients.
federation::Contribution ContributionOfValues(const federation::LearnerPlan& plan, uint64_t round,
                                              uint64_t base_round, std::vector<float> values);

// Returns a contribution to a round whose values are noise.
federation::Contribution WorldContribution(const federation::LearnerPlan& plan, uint64_t round,
                                           uint64_t content_seed);

}  // namespace ruvd::test
