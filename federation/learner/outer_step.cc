// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/outer_step.h"

#include <span>
#include <utility>

#include "base/status.h"
#include "federation/daf/outer_optimizer.h"

namespace ruvd::federation {
namespace {

// Deltas were held where they were trained.
void Hold(const LearnerPlan& plan, size_t bank, std::span<const float> at, std::span<float> delta) {
  if (plan.kind != ContributionKind::kGradient || !(plan.local.hold > 0)) {
    return;
  }
  const auto fisher = std::span(*plan.fisher).subspan(bank * delta.size(), delta.size());
  for (size_t i = 0; i < delta.size(); ++i) {
    delta[i] -= static_cast<float>(plan.local.hold * double{fisher[i]} * double{at[i]});
  }
}

}  // namespace

void TakeOuterStep(const LearnerPlan& plan, CombinedBank combined, GlobalState* state) {
  std::vector<float>& values = state->values[combined.bank];
  std::vector<float>& delta = combined.values;
  const double share = combined.share;
  Hold(plan, combined.bank, values, delta);
  for (float& value : delta) {
    // Minima and maxima of 0 and -0 depend on the machine.
    value = value == 0 ? 0.0F : static_cast<float>(share * value);
  }
  auto optimizer = OuterOptimizer::Restore(plan.values_per_bank, plan.outer,
                                           std::move(state->optimizers[combined.bank]));
  RUVD_CHECK(optimizer.ok());
  OuterOptimizer::Proposal proposal = optimizer->Propose(delta, combined.variance * share * share);
  // The length of Adam's moves does not follow from that of the delta.
  const double length = plan.outer.kind == OuterOptions::Kind::kAdam ? share : 1;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] += static_cast<float>(length * proposal.move[i]);
  }
  state->optimizers[combined.bank] = std::move(proposal.state);
}

}  // namespace ruvd::federation
