// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Plans, nodes and contributions for tests of the learner. All numbers are dyadic or come from
// integers, so that they are equal on every machine.

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "federation/learner/rounds.h"

namespace ruvd::test {

inline constexpr uint32_t kLearnerValues = 37;  // no multiple of a vector's lanes

// A plan of deltas with two banks.
inline federation::LearnerPlan DeltaPlan() {
  federation::LearnerPlan plan;
  plan.frame_id.fill(0x22);
  plan.boundaries = {0.5F};
  plan.values_per_bank = kLearnerValues;
  return plan;
}

// A plan of gradients with two banks.
inline federation::LearnerPlan GradientPlan() {
  federation::LearnerPlan plan = DeltaPlan();
  plan.kind = federation::ContributionKind::kGradient;
  plan.grid = {.exponent = -7, .clip_units = 256, .sigma_units = 160};
  plan.outer = {.kind = federation::OuterOptions::Kind::kAdam, .step = 0.25};
  return plan;
}

inline privacy::NodeId LearnerNode(size_t number) {
  return Sha256(fmt::format("node {}", number));
}

// All maskings evenly in tenths `first` to `last` of t.
inline federation::TimestepHistogram MaskedIn(size_t first, size_t last) {
  std::array<uint64_t, federation::kScheduleBins> counts{};
  std::fill(counts.begin() + static_cast<std::ptrdiff_t>(first),
            counts.begin() + static_cast<std::ptrdiff_t>(last) + 1, 1);
  return federation::HistogramOf(counts);
}

// A fresh contribution of all banks; `name` makes its id.
inline federation::RoundContribution SomeContribution(const federation::LearnerPlan& plan,
                                                      uint64_t round, size_t node,
                                                      std::string_view name, Random& random) {
  federation::Contribution contribution{.plan = plan.Id(),
                                        .round = round,
                                        .base_round = round - 1,
                                        .schedule = plan.schedule,
                                        .banks = {},
                                        .floats = {},
                                        .units = {}};
  for (uint32_t bank = 0; bank < plan.banks(); ++bank) {
    contribution.banks.push_back(bank);
    for (uint32_t i = 0; i < plan.values_per_bank; ++i) {
      const auto number = static_cast<int32_t>(random.Below(2001)) - 1000;
      if (plan.kind == federation::ContributionKind::kDelta) {
        contribution.floats.push_back(static_cast<float>(number) / 512);
      } else {
        contribution.units.push_back(number);
      }
    }
  }
  return {.id = Sha256(fmt::format("{}: {} of round {}", name, node, round)),
          .origin = LearnerNode(node),
          .members = {},
          .contribution = std::move(contribution)};
}

// The payload of an item with a contribution to a round.
inline std::string ContributionPayload(const federation::LearnerPlan& plan, uint64_t round) {
  Random random(round);
  return EncodeContribution(SomeContribution(plan, round, 0, "", random).contribution, plan);
}

// The sum of a clique of the nodes `first` to `last`.
inline federation::RoundContribution SomeSum(const federation::LearnerPlan& plan, uint64_t round,
                                             size_t first, size_t last, uint32_t attempt,
                                             Random& random) {
  federation::RoundContribution sum = SomeContribution(
      plan, round, first, fmt::format("sum {}-{} {}", first, last, attempt), random);
  sum.attempt = attempt;
  sum.origin = sum.id;
  for (size_t node = first; node <= last; ++node) {
    sum.members.push_back(LearnerNode(node));
  }
  std::ranges::sort(sum.members);
  sum.contribution.members = static_cast<uint32_t>(sum.members.size());
  sum.contribution.noise = federation::Contribution::Noise::kShares;
  return sum;
}

// What a node measured of a contribution: equal gains in all banks. More may be added to it (Add).
inline federation::RoundVerdict SomeVerdict(const federation::LearnerPlan& plan,
                                            const federation::RoundContribution& of, size_t judge,
                                            float gain) {
  return {.id = Sha256(fmt::format("{} judges {}", judge, ToHex(of.id))),
          .judge = LearnerNode(judge),
          .verdict = {.round = of.contribution.round,
                      .gains = {{of.id, std::vector<float>(plan.banks(), gain)}}}};
}
inline void Add(const federation::LearnerPlan& plan, const federation::RoundContribution& of,
                float gain, federation::RoundVerdict* verdict) {
  verdict->verdict.gains[of.id] = std::vector<float>(plan.banks(), gain);
  verdict->id = Sha256(ToHex(verdict->id) + ToHex(of.id));
}

// Runs `test` with each instruction set for which the kernels of the rules are compiled and that
// this machine has.
template <typename Test>
void WithEachInstructionSet(const Test& test) {
  // These are the sets that federation/daf/vector_kernels.cc leaves out.
  constexpr int64_t kLeftOut =
      HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | HWY_SSSE3;
  const int64_t all = hwy::SupportedTargets() & HWY_TARGETS & ~kLeftOut;
  for (int64_t rest = all; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    test(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// The set of all of them, borrowed.
inline federation::RoundSet SetOf(const std::vector<federation::RoundContribution>& contributions,
                                  const std::vector<federation::RoundVerdict>& verdicts = {}) {
  federation::RoundSet set;
  for (const federation::RoundContribution& one : contributions) {
    set.contributions.push_back(&one);
  }
  for (const federation::RoundVerdict& verdict : verdicts) {
    set.verdicts.push_back(&verdict);
  }
  return set;
}

using Contributions = std::vector<federation::RoundContribution>;
using Verdicts = std::vector<federation::RoundVerdict>;

// The state after a round that a set gives to a new cluster.
inline federation::GlobalState After(const federation::LearnerPlan& plan, uint64_t until,
                                     const Contributions& contributions,
                                     const Verdicts& verdicts = {},
                                     std::vector<federation::RoundReport>* reports = nullptr) {
  auto state = ApplyRounds(plan, federation::EmptyState(plan, 1), SetOf(contributions, verdicts),
                           until, reports);
  EXPECT_TRUE(state.ok()) << state.status();
  return state.ok() ? *std::move(state) : federation::EmptyState(plan, 1);
}

// A delta whose values are all equal.
inline federation::RoundContribution Filled(const federation::LearnerPlan& plan, uint64_t round,
                                            size_t node, float value) {
  Random random(1);
  federation::RoundContribution one = SomeContribution(plan, round, node, "filled", random);
  std::ranges::fill(one.contribution.floats, value);
  return one;
}

}  // namespace ruvd::test
