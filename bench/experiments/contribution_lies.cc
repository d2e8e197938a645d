// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/contribution_lies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "bench/experiments/federate_training.h"

namespace ruvd::bench {

using federation::Contribution;
using federation::LearnerPlan;

double UnitValue(const LearnerPlan& plan) {
  return std::ldexp(1.0, plan.grid.exponent) / plan.nominal_batch;
}

std::vector<int32_t> UnitsOf(std::span<const float> values, const LearnerPlan& plan, double most) {
  std::vector<int32_t> units(values.size());
  std::ranges::transform(values, units.begin(), [&](float value) {
    return static_cast<int32_t>(std::lround(std::clamp(value / UnitValue(plan), -most, most)));
  });
  return units;
}

std::vector<float> FlatValues(const Contribution& contribution, const LearnerPlan& plan) {
  federation::BankedValues values = ValuesOf(contribution, plan);
  for (std::vector<float>& bank : values) {
    bank.resize(plan.values_per_bank);
  }
  return Flattened(values);
}

Contribution LieLike(const Contribution& honest, std::span<const float> values,
                     const LearnerPlan& plan) {
  Contribution lie = honest;
  lie.banks.resize(plan.banks());
  std::iota(lie.banks.begin(), lie.banks.end(), 0U);
  if (plan.kind == federation::ContributionKind::kDelta) {
    lie.floats.assign(values.begin(), values.end());
  } else {
    lie.units = UnitsOf(values, plan, std::numeric_limits<int32_t>::max());
  }
  return lie;
}

std::vector<std::vector<float>> LyingMember::KnownOf(
    uint64_t round, const federation::ClusterRounds& rounds) const {
  std::vector<std::vector<float>> known;
  for (const federation::RoundContribution* const one : rounds.ContributionsOf(round)) {
    if (one->contribution != last_) {
      known.push_back(FlatValues(one->contribution, rounds.plan()));
    }
  }
  return known;
}

Contribution LyingMember::Lie(const Contribution& own, const federation::ClusterRounds& rounds) {
  constexpr size_t kFew = 2;
  std::vector<std::vector<float>> known = KnownOf(own.round, rounds);
  if (known.size() < kFew) {
    std::vector<std::vector<float>> before = KnownOf(own.round - 1, rounds);
    if (before.size() > known.size()) {
      known = std::move(before);
    }
  }
  if (known.empty()) {
    known.push_back(FlatValues(own, rounds.plan()));
  }
  const std::vector<std::vector<float>> lies = Attack(attack_, known, 1, random_);
  last_ = LieLike(own, lies.front(), rounds.plan());
  return *last_;
}

}  // namespace ruvd::bench
