// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests what a lying member gives to rounds.

#include "bench/experiments/contribution_lies.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "tests/federation/learner_fixture.h"
#include "tests/federation/rounds_cluster.h"

namespace ruvd::bench {
namespace {

using federation::ClusterRounds;
using federation::Contribution;
using federation::LearnerPlan;
using federation::RoundContribution;
using test::SomeContribution;

constexpr size_t kLiar = 9;

class LyingMemberTest : public testing::TestWithParam<federation::ContributionKind> {
 protected:
  LyingMemberTest() {
    plan_ = GetParam() == federation::ContributionKind::kDelta ? test::DeltaPlan()
                                                               : test::GradientPlan();
    absl::Status unused;
    rounds_.emplace(*ClusterRounds::Create({.plan = plan_, .self = test::LearnerNode(kLiar)}, "",
                                           test::BeginOf(plan_, test::kFirstRound), &unused));
  }
  RoundContribution Of(size_t node, uint64_t round) {
    return SomeContribution(plan_, round, node, "item", random_);
  }
  std::vector<float> Receive(size_t node, uint64_t round) {
    const RoundContribution one = Of(node, round);
    EXPECT_TRUE(rounds_->OnItem(test::ContributionItem(plan_, one)).ok());
    return FlatValues(one.contribution, plan_);
  }
  // Expects `factor` times the mean of the values, within one unit of a gradient.
  void ExpectMean(const Contribution& lie, const std::vector<std::vector<float>>& of,
                  float factor) const {
    EXPECT_TRUE(CheckContribution(lie, plan_, rounds_->now_round()).ok());
    const std::vector<float> values = FlatValues(lie, plan_);
    const double unit =
        plan_.kind == federation::ContributionKind::kGradient ? UnitValue(plan_) : 1e-5;
    for (size_t i = 0; i < values.size(); ++i) {
      float sum = 0;
      for (const std::vector<float>& one : of) {
        sum += one[i];
      }
      ASSERT_NEAR(values[i], factor * sum / static_cast<float>(of.size()), unit) << i;
    }
  }

  LearnerPlan plan_;
  std::optional<ClusterRounds> rounds_;
  Random random_{5};
  LyingMember member_{UpdateAttack::kSignFlip3, 1};
};

INSTANTIATE_TEST_SUITE_P(Kinds, LyingMemberTest,
                         testing::Values(federation::ContributionKind::kDelta,
                                         federation::ContributionKind::kGradient));

TEST_P(LyingMemberTest, KnowsOnlyItsOwnContributionAtFirst) {
  const Contribution own = Of(kLiar, test::kFirstRound).contribution;
  ExpectMean(member_.Lie(own, *rounds_), {FlatValues(own, plan_)}, -3);
}

TEST_P(LyingMemberTest, TurnsWhatOthersGaveToTheRoundAround) {
  const auto first = Receive(1, test::kFirstRound);
  const auto second = Receive(2, test::kFirstRound);
  const Contribution own = Of(kLiar, test::kFirstRound).contribution;
  ExpectMean(member_.Lie(own, *rounds_), {first, second}, -3);
}

TEST_P(LyingMemberTest, TakesTheRoundBeforeWhileFewHaveCome) {
  const auto first = Receive(1, test::kFirstRound);
  const auto second = Receive(2, test::kFirstRound);
  RoundContribution own = Of(kLiar, test::kFirstRound);
  own.contribution = member_.Lie(own.contribution, *rounds_);
  ASSERT_TRUE(rounds_->OnItem(test::ContributionItem(plan_, own)).ok());
  rounds_->OnTime(test::BeginOf(plan_, test::kFirstRound + 1));
  Receive(1, test::kFirstRound + 1);
  const Contribution next = Of(kLiar, test::kFirstRound + 1).contribution;
  // Its own lie in that round is no honest contribution.
  ExpectMean(member_.Lie(next, *rounds_), {first, second}, -3);
}

// Found by review: the only contribution that had come was forgotten for an empty round before.
TEST_P(LyingMemberTest, OneContributionIsBetterThanNone) {
  const auto first = Receive(1, test::kFirstRound);
  const Contribution own = Of(kLiar, test::kFirstRound).contribution;
  ExpectMean(member_.Lie(own, *rounds_), {first}, -3);
}

}  // namespace
}  // namespace ruvd::bench
