// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <vector>

#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"

namespace ruvd::federation {

// What the contributions of a round say about one bank.
struct CombinedBank {
  size_t bank = 0;
  std::vector<float> values;  // of the plan; minus a gradient, or a change
  double variance = 0;        // of the noise in each value
  double share = 1;           // of a whole step, above 0 and at most 1 (RoundReport::step)
};

// Moves the bank of a state by one step of the plan's optimiser. `state` must pass CheckState. Adds
// the plan's hold to a gradient: the derivative of hold/2 sum F w^2 (arXiv 1612.00796), where w are
// the values of the bank. The result is the same on all machines, bit for bit.
void TakeOuterStep(const LearnerPlan& plan, CombinedBank combined, GlobalState* state);

}  // namespace ruvd::federation
