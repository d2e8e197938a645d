// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/contributions.h"

#include <cmath>
#include <utility>

#include "base/random.h"
#include "federation/learner/plan.h"

namespace ruvd::test {

federation::Contribution ContributionOfValues(const federation::LearnerPlan& plan, uint64_t round,
                                              uint64_t base_round, std::vector<float> values) {
  federation::Contribution contribution{.plan = plan.Id(),
                                        .round = round,
                                        .base_round = base_round,
                                        .schedule = plan.schedule,
                                        .banks = {0},
                                        .floats = {},
                                        .units = {}};
  if (plan.kind == federation::ContributionKind::kDelta) {
    contribution.floats = std::move(values);
    return contribution;
  }
  for (const float value : values) {
    contribution.units.push_back(static_cast<int32_t>(
        std::lround(std::ldexp(double{value} * plan.nominal_batch, -plan.grid.exponent))));
  }
  return contribution;
}

federation::Contribution WorldContribution(const federation::LearnerPlan& plan, uint64_t round,
                                           uint64_t content_seed) {
  Random random(content_seed);
  std::vector<float> values(plan.values_per_bank);
  for (float& value : values) {
    value = static_cast<float>(0.1 * random.Normal());
  }
  return ContributionOfValues(plan, round, round - 1, std::move(values));
}

}  // namespace ruvd::test
