// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// How much each contribution of a round counts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "federation/learner/rounds.h"
#include "federation/limits.h"
#include "tests/federation/learner_fixture.h"

namespace ruvd::test {
namespace {

using federation::EmptyState;
using federation::GlobalState;
using federation::LearnerPlan;
using federation::RoundContribution;
using federation::RoundReport;
using federation::RoundVerdict;
using federation::Strategy;

// Nodes that train on unlike parts of t: half of them on the lower, one on all, two on the upper.
Contributions Heterogeneous(const LearnerPlan& plan) {
  Random random(11);
  Contributions set;
  for (size_t node = 0; node < 7; ++node) {
    set.push_back(SomeContribution(plan, 1, node, "unlike", random));
    set.back().contribution.schedule = node < 4    ? MaskedIn(0, 6)
                                       : node == 4 ? MaskedIn(0, 9)
                                                   : MaskedIn(5, 9);
  }
  return set;
}

// Five judges find the nodes the better the higher their number is.
Verdicts ByNumber(const LearnerPlan& plan, const Contributions& set) {
  Verdicts verdicts;
  for (size_t judge = 10; judge < 15; ++judge) {
    verdicts.push_back(SomeVerdict(plan, set[0], judge, -0.125F));
    for (size_t node = 1; node < set.size(); ++node) {
      Add(plan, set[node], 0.125F * (static_cast<float>(node) - 1), &verdicts.back());
    }
  }
  return verdicts;
}

TEST(RoundWeights, EachStrategyChangesWhatUnlikeNodesLearn) {
  std::set<federation::BankedValues> results;
  for (const Strategy strategy : {Strategy::kTimestepAligned, Strategy::kQualityWeighted,
                                  Strategy::kScheduleSimilarity, Strategy::kHybrid}) {
    LearnerPlan plan = DeltaPlan();
    plan.rule = "mean";
    plan.strategy.strategy = strategy;
    const Contributions set = Heterogeneous(plan);
    const Verdicts verdicts = ByNumber(plan, set);
    results.insert(After(plan, 1, set, verdicts).values);
    Contributions alike = set;
    for (RoundContribution& one : alike) {
      one.contribution.schedule = plan.schedule;
    }
    EXPECT_NE(After(plan, 1, alike, verdicts).values, After(plan, 1, set, verdicts).values)
        << static_cast<int>(strategy) << ": what was trained on does not matter";
  }
  LearnerPlan plan = DeltaPlan();
  plan.rule = "mean";
  plan.strategy = {.strategy = Strategy::kHybrid, .quality_weight = 0};
  results.insert(After(plan, 1, Heterogeneous(plan)).values);
  EXPECT_EQ(results.size(), 5u);
}

TEST(RoundWeights, TimestepsWeighByTheCoveredPartOfABank) {
  LearnerPlan plan = DeltaPlan();
  plan.rule = "mean";
  Contributions set = {Filled(plan, 1, 0, 1), Filled(plan, 1, 1, -1)};
  set[0].contribution.schedule = MaskedIn(0, 4);  // the lower bank
  set[1].contribution.schedule = MaskedIn(0, 6);  // and two fifths of the upper one
  std::vector<RoundReport> reports;
  const GlobalState state = After(plan, 1, set, {}, &reports);
  EXPECT_EQ(reports[0].contributors, (std::vector<size_t>{2, 1}));
  EXPECT_NEAR(state.values[0][0], 0, 1e-6);
  EXPECT_NEAR(state.values[1][0], -1, 1e-6);
  for (const RoundReport::Part& part : reports[0].parts) {
    EXPECT_NEAR(part.weight, 1, 1e-6);
    EXPECT_NEAR(part.norm, std::sqrt(2.0 * kLearnerValues), 1e-6);
  }
}

// The mean of the round takes the place of the node's own schedule: it is equal on all nodes.
TEST(RoundWeights, SimilarityIsThatToTheMeanOfTheRound) {
  LearnerPlan plan = DeltaPlan();
  plan.boundaries = {};
  plan.rule = "mean";
  plan.strategy = {.strategy = Strategy::kHybrid,
                   .timestep_weight = 0,
                   .quality_weight = 0,
                   .schedule_weight = 1};
  Contributions set = {Filled(plan, 1, 0, 1), Filled(plan, 1, 1, 1), Filled(plan, 1, 2, 1),
                       Filled(plan, 1, 3, -1)};
  for (size_t i = 0; i < set.size(); ++i) {
    set[i].contribution.schedule = i < 3 ? MaskedIn(0, 4) : MaskedIn(5, 9);
  }
  // Similarities are 3/4 for three of them and 1/4 for the last one.
  EXPECT_NEAR(After(plan, 1, set).values[0][0], (3 * 0.75 - 0.25) / (3 * 0.75 + 0.25), 1e-4);
}

TEST(RoundWeights, QualityIsTheMedianOfOtherMembersVerdicts) {
  LearnerPlan plan = DeltaPlan();
  plan.rule = "mean";
  plan.strategy.strategy = Strategy::kQualityWeighted;
  const Contributions set = {Filled(plan, 1, 0, 1), Filled(plan, 1, 1, -1)};
  Verdicts verdicts;
  for (const size_t judge : {10, 11}) {
    verdicts.push_back(SomeVerdict(plan, set[0], judge, 0.25F));
    Add(plan, set[1], -0.25F, &verdicts.back());
  }
  const federation::BankedValues zero = EmptyState(plan, 1).values;
  EXPECT_EQ(After(plan, 1, set).values, zero) << "nothing is known";
  EXPECT_EQ(After(plan, 1, set, verdicts).values, zero) << "two judges are too few";
  verdicts.push_back(SomeVerdict(plan, set[0], 0, 0.25F));
  EXPECT_EQ(After(plan, 1, set, verdicts).values, zero) << "nobody judges itself";
  verdicts.push_back(SomeVerdict(plan, set[0], 12, 0.25F));
  Add(plan, set[1], 9, &verdicts.back());  // outvoted
  std::vector<RoundReport> reports;
  const GlobalState judged = After(plan, 1, set, verdicts, &reports);
  EXPECT_EQ(judged.values[0][0], 1);
  EXPECT_EQ(judged.last_part.size(), 5u) << "judges had a part, too";
  EXPECT_EQ(reports[0].verdicts, 3u) << "that of node 0 is on itself alone";
  for (const RoundReport::Part& part : reports[0].parts) {
    EXPECT_EQ(part.judges, 3u);
    EXPECT_EQ(part.weight, part.origin == LearnerNode(0) ? 1 : 0);
  }
  std::ranges::reverse(verdicts);
  RoundVerdict again = SomeVerdict(plan, set[0], 12, -9);
  again.id.fill(0xff);  // a higher id of a judge does not count
  verdicts.push_back(again);
  EXPECT_EQ(After(plan, 1, set, verdicts), judged);
  RoundVerdict bad = verdicts[0];
  bad.verdict.gains.begin()->second.pop_back();
  EXPECT_FALSE(ApplyRounds(plan, EmptyState(plan, 1), SetOf(set, {bad}), 1).ok());
}

// Found by review: a sum weighed as its members, so that one liar in it weighed as sixteen nodes.
TEST(RoundWeights, ASumOfManyMembersHasOneVote) {
  LearnerPlan plan = GradientPlan();
  plan.rule = "mean";
  plan.quorum = 0;
  Random random(5);
  RoundContribution sum = SomeSum(plan, 1, 0, 15, 0, random);
  RoundContribution single = SomeContribution(plan, 1, 30, "alone", random);
  std::vector<RoundReport> reports;
  After(plan, 1, {sum, single}, {}, &reports);
  ASSERT_EQ(reports[0].parts.size(), 2U);
  EXPECT_EQ(reports[0].parts[0].weight, reports[0].parts[1].weight);
}

// Otherwise a judge could measure until it likes the result.
TEST(RoundWeights, OneVerdictOfAJudgeCountsInARound) {
  LearnerPlan plan = DeltaPlan();
  plan.rule = "mean";
  plan.strategy.strategy = Strategy::kQualityWeighted;
  const Contributions set = {Filled(plan, 1, 0, 1), Filled(plan, 1, 1, -1)};
  Verdicts verdicts;
  for (const size_t judge : {10, 11, 12}) {
    verdicts.push_back(SomeVerdict(plan, set[0], judge, 0.25F));
    verdicts.push_back(SomeVerdict(plan, set[1], judge, 0.25F));
    verdicts.back().id.fill(judge == 12 ? 0 : 0xff);
  }
  std::vector<RoundReport> reports;
  After(plan, 1, set, verdicts, &reports);
  EXPECT_EQ(reports[0].verdicts, 3u);
  std::vector<size_t> judges;
  for (const RoundReport::Part& part : reports[0].parts) {
    judges.push_back(part.judges);
    EXPECT_EQ(part.weight, 0) << "two judges are too few for one, and one for the other";
  }
  EXPECT_THAT(judges, testing::UnorderedElementsAre(2u, 1u));
}

TEST(RoundWeights, StaleAndLongContributionsCountLess) {
  LearnerPlan plan = DeltaPlan();
  plan.rule = "mean";
  Contributions set = {Filled(plan, 4, 0, 1), Filled(plan, 4, 1, -1)};
  set[1].contribution.base_round = 0;  // three rounds before 3: half the weight
  EXPECT_NEAR(After(plan, 4, set).values[0][0], 1.0 / 3, 1e-6);
  plan.strategy.staleness_exponent = 1;
  set = {Filled(plan, 4, 0, 1), Filled(plan, 4, 1, -1)};
  set[1].contribution.base_round = 0;
  EXPECT_NEAR(After(plan, 4, set).values[0][0], 3.0 / 5, 1e-6);
  const GlobalState longer = After(plan, 1, {Filled(plan, 1, 0, 1e30F)});
  double square = 0;
  for (const std::vector<float>& bank : longer.values) {
    for (const float value : bank) {
      square += double{value} * value;
    }
  }
  EXPECT_NEAR(std::sqrt(square), plan.max_norm, 1e-3);
}

// A liar whose vector counts once cannot move the default rule far.
TEST(RoundWeights, TheDefaultRuleOutvotesALiar) {
  const LearnerPlan plan = DeltaPlan();
  Contributions set;
  for (size_t node = 0; node < 6; ++node) {
    set.push_back(Filled(plan, 1, node, 0.5F));
  }
  set.push_back(Filled(plan, 1, 6, -9));
  EXPECT_NEAR(After(plan, 1, set).values[0][0], 0.5, 1e-6);
}

// One contribution says little about what the others would have given, and if it is a lie, no rule
// finds that out.
TEST(RoundWeights, ARoundWithoutAQuorumMakesAShorterStep) {
  LearnerPlan plan = DeltaPlan();
  Contributions set;
  for (size_t node = 0; node < 6; ++node) {
    set.push_back(Filled(plan, 1, node, 0.5F));
  }
  set.push_back(Filled(plan, 2, 5, 0.6F));
  std::vector<RoundReport> reports;
  EXPECT_NEAR(After(plan, 2, set, {}, &reports).values[0][0], 0.5 + 0.6 / 3, 1e-6);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].step, 1) << "all of six";
  EXPECT_NEAR(reports[1].step, 1.0 / 3, 1e-12) << "one of six, of which three are a quorum";
  plan.quorum = 0;
  set.clear();
  for (size_t node = 0; node < 6; ++node) {
    set.push_back(Filled(plan, 1, node, 0.5F));
  }
  set.push_back(Filled(plan, 2, 5, 0.6F));
  EXPECT_NEAR(After(plan, 2, set).values[0][0], 0.5 + 0.6, 1e-6) << "each round is a whole step";
}

TEST(RoundWeights, AQuorumIsOfTheNodesOfTheWindow) {
  const LearnerPlan plan = DeltaPlan();
  const uint64_t later = 1 + plan.window;
  const auto moved_at = [&plan](uint64_t round) {
    Contributions set;
    for (size_t node = 0; node < 4; ++node) {
      set.push_back(Filled(plan, 1, node, 0.5F));
    }
    set.push_back(Filled(plan, round, 3, 0.6F));
    return After(plan, round, set).values[0][0] - 0.5;
  };
  EXPECT_NEAR(moved_at(later), 0.6 / 2, 1e-6) << "four had a part within the window";
  EXPECT_NEAR(moved_at(later + 1), 0.6, 1e-6) << "those who left long ago do not count";
}

TEST(RoundWeights, ASumCountsAsAllOfItsMembersForAQuorum) {
  const LearnerPlan plan = GradientPlan();
  Random random(8);
  Contributions set;
  for (size_t node = 0; node < 8; ++node) {
    set.push_back(SomeContribution(plan, 1, node, "single", random));
  }
  set.push_back(SomeSum(plan, 2, 0, 3, 0, random));
  std::vector<RoundReport> reports;
  After(plan, 2, set, {}, &reports);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[1].step, 1) << "four of eight";
}

TEST(RoundWeights, HalfOfTheNodesAreAQuorum) {
  const LearnerPlan plan = DeltaPlan();
  Contributions set;
  for (size_t node = 0; node < 6; ++node) {
    set.push_back(Filled(plan, 1, node, 0.5F));
  }
  for (size_t node = 0; node < 3; ++node) {
    set.push_back(Filled(plan, 2, node, 0.5F));
  }
  EXPECT_NEAR(After(plan, 2, set).values[0][0], 1, 1e-6);
}

TEST(RoundWeights, AQuorumOfACrowdIsALimitedNumber) {
  LearnerPlan plan = DeltaPlan();
  plan.boundaries = {};
  plan.values_per_bank = 1;
  constexpr size_t kCrowd = 4 * limits::kLargestQuorum;
  Contributions set;
  for (size_t node = 0; node < kCrowd; ++node) {
    set.push_back(Filled(plan, 1, node, 0.5F));
  }
  for (uint64_t round = 2; round <= 3; ++round) {
    const size_t given = round == 2 ? limits::kLargestQuorum : limits::kLargestQuorum / 2;
    for (size_t node = 0; node < given; ++node) {
      set.push_back(Filled(plan, round, node, 0.5F));
    }
  }
  std::vector<RoundReport> reports;
  After(plan, 3, set, {}, &reports);
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[1].step, 1);
  EXPECT_EQ(reports[2].step, 0.5);
}

// The length of Adam's moves does not follow from that of the delta.
TEST(RoundWeights, AdamAlsoMovesLessWithoutAQuorum) {
  LearnerPlan plan = GradientPlan();
  ASSERT_EQ(plan.outer.kind, federation::OuterOptions::Kind::kAdam);
  plan.rule = "mean";
  Random random(4);
  Contributions set;
  for (size_t node = 0; node < 6; ++node) {
    set.push_back(SomeContribution(plan, 1, node, "some", random));
  }
  set.push_back(SomeContribution(plan, 2, 5, "one", random));
  const auto second_move = [&](double quorum) {
    plan.quorum = quorum;
    Contributions same = set;
    for (RoundContribution& one : same) {
      one.contribution.plan = plan.Id();
    }
    const Contributions first(same.begin(), same.end() - 1);
    const auto before = After(plan, 1, first).values[0];
    const auto after = After(plan, 2, same).values[0];
    double square = 0;
    for (size_t i = 0; i < after.size(); ++i) {
      square += (double{after[i]} - before[i]) * (double{after[i]} - before[i]);
    }
    return std::sqrt(square);
  };
  EXPECT_LT(second_move(0.5), 0.5 * second_move(0));
}

// FedAdam subtracts the variance of the noise that contributions name.
TEST(RoundWeights, NoiseIsTakenOffTheSecondMoment) {
  const LearnerPlan plan = GradientPlan();
  Random random(3);
  Contributions set = {SomeContribution(plan, 1, 0, "one", random),
                       SomeContribution(plan, 1, 1, "two", random)};
  EXPECT_EQ(After(plan, 1, set).optimizers[0].noise, 0);
  for (RoundContribution& one : set) {
    one.contribution.noise = federation::Contribution::Noise::kWhole;
  }
  const double one = NoiseVarianceOf(set[0].contribution, plan);
  EXPECT_NEAR(After(plan, 1, set).optimizers[0].noise, (1 - plan.outer.beta2) * one / 2, 1e-15);
}

}  // namespace
}  // namespace ruvd::test
