// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a state knows of single nodes from the rounds before, and what the default rule makes of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "federation/learner/rounds.h"
#include "federation/limits.h"
#include "tests/federation/learner_fixture.h"

namespace ruvd::test {
namespace {

using federation::CheckState;
using federation::DecodeState;
using federation::EmptyState;
using federation::GlobalState;
using federation::LearnerPlan;
using federation::RoundContribution;
using federation::RoundReport;

// The digests come from a program in Python that follows docs/wire-format.md and outliers.h.
TEST(RunningMeans, TwoFilteredRoundsHaveTheDigestOfAnotherProgram) {
  LearnerPlan plan;
  plan.frame_id.fill(0x22);
  plan.rank = 2;
  plan.values_per_bank = 4;
  plan.rule = "filtered_mean";
  plan.outer.step = 0.5;
  const std::vector<std::vector<std::vector<float>>> rounds = {{{1, 0, 0.5F, 0.25F},
                                                                {0.5F, 0.5F, 0.5F, 0.5F},
                                                                {1, 0.25F, 0.25F, 0},
                                                                {0.75F, 0.5F, 0, 0.25F},
                                                                {-4, 8, 2, -6}},
                                                               {{1, 0.5F, 0, 0},
                                                                {0.5F, 1, 0.25F, 0.25F},
                                                                {1, 1, 0, 0.5F},
                                                                {0.5F, 0.25F, 0.25F, 0},
                                                                {0, 0.5F, 0.5F, -0.25F}}};
  Contributions set;
  Random random(1);
  for (uint64_t round = 1; round <= 2; ++round) {
    for (size_t node = 0; node < 5; ++node) {
      set.push_back(SomeContribution(plan, round, node, "golden", random));
      set.back().contribution.floats = rounds[round - 1][node];
    }
  }
  std::vector<RoundReport> reports;
  const GlobalState state = After(plan, 2, set, {}, &reports);
  EXPECT_EQ(ToHex(plan.Id()), "92191894f0178621f8f0c15d39c88a55614554a2837c11459101564951b5e11b");
  EXPECT_EQ(ToHex(state.DigestOf(plan)),
            "aa0e682f0c9548c5d91b70fa8f9c3ef0291688b95222adba64aff605a205ba74");
  for (const RoundReport& report : reports) {
    for (const RoundReport::Part& part : report.parts) {
      EXPECT_EQ(part.left_out, part.origin == LearnerNode(4)) << report.round;
    }
  }
}

// Gradients of six nodes with a common signal and as much noise as a private tier adds. The last
// node is as far from their mean as noise is, but on the same side in each round.
Contributions HiddenLie(const LearnerPlan& plan, uint64_t rounds) {
  constexpr int32_t kNoise = 1000;
  Random random(5);
  Contributions set;
  for (uint64_t round = 1; round <= rounds; ++round) {
    for (size_t node = 0; node < 6; ++node) {
      set.push_back(SomeContribution(plan, round, node, "hidden", random));
      std::vector<int32_t>& units = set.back().contribution.units;
      for (size_t i = 0; i < units.size(); ++i) {
        units[i] = node == 5 ? -kNoise / 2 : units[i];
        units[i] += i % 2 == 0 ? kNoise / 4 : -kNoise / 4;
      }
    }
  }
  return set;
}

TEST(RunningMeans, ALieThatHidesInTheNoiseIsLeftOutAfterSomeRounds) {
  LearnerPlan plan = GradientPlan();
  plan.values_per_bank = 1792;
  std::vector<RoundReport> reports;
  const GlobalState state = After(plan, 12, HiddenLie(plan, 12), {}, &reports);
  ASSERT_EQ(reports.size(), 12U);
  for (const RoundReport& report : reports) {
    for (const RoundReport::Part& part : report.parts) {
      EXPECT_FALSE(part.left_out && part.origin != LearnerNode(5)) << report.round;
      if (part.origin == LearnerNode(5) && (report.round == 1 || report.round > 6)) {
        EXPECT_EQ(part.left_out, report.round > 6) << report.round;
      }
    }
  }
  EXPECT_EQ(*DecodeState(AsBytes(EncodeState(state, plan)), plan), state);
  // A node that begins at a later state decides as the others do.
  const Contributions all = HiddenLie(plan, 12);
  Contributions later;
  std::ranges::copy_if(all, std::back_inserter(later),
                       [](const RoundContribution& one) { return one.contribution.round > 4; });
  const GlobalState half = After(plan, 4, all);
  EXPECT_EQ(*ApplyRounds(plan, half, SetOf(later), 12), state);
}

TEST(RunningMeans, OnlyWhatTheRuleUses) {
  LearnerPlan plan = DeltaPlan();
  Contributions set;
  for (size_t node = 0; node < 6; ++node) {
    set.push_back(Filled(plan, 1, node, 0.5F));
  }
  const GlobalState state = After(plan, 1, set);
  ASSERT_EQ(state.running_means.size(), plan.banks());
  EXPECT_EQ(state.running_means[1].size(), 6U);
  plan.rule = "median";
  for (RoundContribution& one : set) {
    one.contribution.plan = plan.Id();
  }
  EXPECT_TRUE(After(plan, 1, set).running_means[1].empty());
  EXPECT_FALSE(CheckState(state, plan).ok()) << "this rule uses none";
}

TEST(RunningMeans, OfASumNothingIsKnown) {
  const LearnerPlan plan = GradientPlan();
  Random random(2);
  const GlobalState state = After(plan, 1, {SomeSum(plan, 1, 0, 3, 0, random)});
  EXPECT_TRUE(state.running_means[0].empty());
}

// Sums of the noise and the signal of their members. To the last one, of seven members, a lie is
// added that is orthogonal to the signal and has `lie` times the square of the noise of sixteen.
Contributions SumsOf(const LearnerPlan& plan, const std::vector<size_t>& sizes, double lie) {
  Random random(4);
  Contributions set;
  size_t first = 0;
  for (const size_t size : sizes) {
    set.push_back(SomeSum(plan, 1, first, first + size - 1, 0, random));
    first += size;
    std::vector<int32_t>& units = set.back().contribution.units;
    const auto signal = static_cast<double>(size) * 5;
    const bool last = set.size() == sizes.size();
    const double lies = last ? 7 * plan.grid.sigma_units / 16.0 * std::sqrt(lie) : 0.0;
    for (size_t i = 0; i < units.size(); ++i) {
      units[i] =
          static_cast<int32_t>(random.Normal() * plan.grid.sigma_units +
                               (i % 2 == 0 ? signal : -signal) + (i / 2 % 2 == 0 ? lies : -lies));
    }
  }
  return set;
}

// Review: a sum of seven members has more noise than sums of sixteen, and stood apart by it.
TEST(RunningMeans, AnHonestSumOfFewMembersIsNotLeftOut) {
  LearnerPlan plan = GradientPlan();
  plan.values_per_bank = 1792;
  std::vector<RoundReport> reports;
  for (const double lie : {0.0, 0.5, 2.5}) {
    reports.clear();
    After(plan, 1, SumsOf(plan, {16, 16, 15, 16, 7}, lie), {}, &reports);
    EXPECT_EQ(reports.front().contributors.front(), 5U);
    for (const RoundReport::Part& part : reports.front().parts) {
      EXPECT_EQ(part.left_out, part.members == 7 && lie > 1) << part.members << " " << lie;
    }
  }
}

TEST(RunningMeans, NodesThatDoNotTakePartAreForgotten) {
  const LearnerPlan plan = DeltaPlan();
  Contributions set = {Filled(plan, 1, 0, 0.5F)};
  for (uint64_t round = 2; round <= 2 + plan.window; ++round) {
    set.push_back(Filled(plan, round, 1, 0.5F));
  }
  EXPECT_EQ(After(plan, 1 + plan.window, set).running_means[0].size(), 2U);
  const GlobalState state = After(plan, 2 + plan.window, set);
  EXPECT_EQ(state.running_means[0].size(), 1U);
  EXPECT_TRUE(state.running_means[0].contains(LearnerNode(1)));
}

TEST(RunningMeans, AreTheNodesThatTookPartLast) {
  const LearnerPlan plan = DeltaPlan();
  Contributions set;
  for (size_t node = 0; node < limits::kMaxRunningMeans; ++node) {
    set.push_back(Filled(plan, 1, node, 0.5F));
  }
  const size_t newcomer = limits::kMaxRunningMeans;
  set.push_back(Filled(plan, 2, newcomer, 0.5F));
  const GlobalState state = After(plan, 2, set);
  EXPECT_EQ(state.running_means[0].size(), limits::kMaxRunningMeans);
  EXPECT_TRUE(state.running_means[0].contains(LearnerNode(newcomer)));
  EXPECT_TRUE(CheckState(state, plan).ok());
}

// Review: only some of many nodes are remembered, and the others began anew in each round.
TEST(RunningMeans, OfManyHonestNodesNoneIsLeftOut) {
  LearnerPlan plan = GradientPlan();
  plan.boundaries = {};
  plan.values_per_bank = 1792;
  Random random(9);
  Contributions set;
  for (uint64_t round = 1; round <= 7; ++round) {
    for (size_t node = 0; node < 2 * limits::kMaxRunningMeans; ++node) {
      set.push_back(SomeContribution(plan, round, node, "many", random));
    }
  }
  std::vector<RoundReport> reports;
  const GlobalState state = After(plan, 7, set, {}, &reports);
  EXPECT_EQ(state.running_means[0].size(), limits::kMaxRunningMeans);
  for (const RoundReport& report : reports) {
    EXPECT_TRUE(std::ranges::none_of(report.parts, &RoundReport::Part::left_out)) << report.round;
  }
}

TEST(RunningMeans, NodesTwiceOrTooManyAreRefused) {
  LearnerPlan plan = DeltaPlan();
  plan.boundaries = {};
  const GlobalState state = After(plan, 1, {Filled(plan, 1, 0, 0.5F)});
  const std::string bytes = EncodeState(state, plan);
  const size_t one = 32 + 8 + 8 + 4 * plan.RunningMeanValues();
  const std::string node = bytes.substr(bytes.size() - one);
  std::string twice = bytes + node;
  twice[bytes.size() - one - 1] = 2;
  EXPECT_THAT(MessageOf(DecodeState(AsBytes(twice), plan).status()),
              testing::HasSubstr("remembers nodes twice"));
  std::string many = bytes;
  many[bytes.size() - one - 1] = static_cast<char>(limits::kMaxRunningMeans + 1);
  EXPECT_THAT(MessageOf(DecodeState(AsBytes(many), plan).status()),
              testing::HasSubstr("remembers too many nodes"));
}

TEST(RunningMeans, LongContributionsOfAllBanksTakeABoundedPlace) {
  LearnerPlan plan = GradientPlan();
  plan.values_per_bank = 57'344;
  for (size_t banks = 1; banks <= 16; ++banks) {
    plan.boundaries.assign(banks - 1, 0.5F);
    EXPECT_LE(plan.RunningMeanValues() * banks, limits::kFoldedValues);
    EXPECT_GT(plan.RunningMeanValues(), 0U);
  }
}

TEST(RunningMeans, WhatNoNodeGivesIsRefused) {
  const LearnerPlan plan = DeltaPlan();
  const GlobalState state = After(plan, 1, {Filled(plan, 1, 0, 0.5F)});
  const auto changed = [&](auto change) {
    GlobalState other = state;
    change(other.running_means[0].at(LearnerNode(0)));
    return CheckState(other, plan).ok();
  };
  EXPECT_TRUE(changed([](auto&) {}));
  EXPECT_FALSE(changed([](auto& mean) { mean.round = 2; }));
  EXPECT_FALSE(changed([](auto& mean) { mean.weight = 0; }));
  EXPECT_FALSE(changed([](auto& mean) { mean.weight = 2; }));
  EXPECT_FALSE(changed([](auto& mean) { mean.weighted.pop_back(); }));
  EXPECT_FALSE(changed([](auto& mean) { mean.weighted[0] = 1e20F; }));
  GlobalState other = state;
  other.running_means[0][LearnerNode(7)] = state.running_means[0].at(LearnerNode(0));
  EXPECT_FALSE(CheckState(other, plan).ok()) << "it had no part";
  other = EmptyState(plan, 2);
  other.running_means.pop_back();
  EXPECT_FALSE(CheckState(other, plan).ok());
}

}  // namespace
}  // namespace ruvd::test
