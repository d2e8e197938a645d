// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Masked sums as contributions of a cluster's rounds.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/cluster_rounds.h"
#include "federation/reasons.h"
#include "tests/federation/rounds_cluster.h"

namespace ruvd::test {
namespace {

using federation::ClusterRounds;
using federation::GlobalState;
using federation::Item;
using federation::LearnerPlan;

LearnerPlan ShortGradientPlan() {
  LearnerPlan plan = GradientPlan();
  plan.values_per_bank = 5;
  plan.window = 4;
  return plan;
}

// A member of a cluster whose contributions are masked sums.
struct Follower {
  explicit Follower(const LearnerPlan& of, size_t number = 0) : plan(of) {
    absl::Status unused;
    rounds.emplace(*ClusterRounds::Create({.plan = plan, .self = LearnerNode(number)}, "",
                                          BeginOf(plan, kFirstRound), &unused));
  }
  void Pass(uint64_t round) { rounds->OnTime(BeginOf(plan, round)); }
  const GlobalState& State(uint64_t round) { return rounds->StateBefore(round); }

  LearnerPlan plan;
  std::optional<ClusterRounds> rounds;
};

TEST(ClusterRoundsSums, CountInAnyOrderAsApplyRoundsCountsThem) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(1);
  const Contributions sums = {SomeSum(plan, kFirstRound, 0, 4, 0, random),
                              SomeSum(plan, kFirstRound, 3, 7, 1, random),
                              SomeSum(plan, kFirstRound + 1, 0, 3, 0, random)};
  Follower one(plan);
  Follower other(plan);
  for (const auto& sum : sums) {
    ASSERT_TRUE(one.rounds->AddSum(sum).ok());
  }
  other.Pass(kFirstRound + 2);
  (void)other.rounds->TakeChanged();
  for (size_t i = sums.size(); i > 0; --i) {
    ASSERT_TRUE(other.rounds->AddSum(sums[i - 1]).ok());
    ASSERT_TRUE(other.rounds->AddSum(sums[i - 1]).ok()) << "twice is as good as once";
  }
  EXPECT_TRUE(other.rounds->TakeChanged());
  one.Pass(kFirstRound + 2);
  EXPECT_EQ(one.State(kFirstRound + 2), other.State(kFirstRound + 2));
  EXPECT_EQ(one.rounds->contributions(), 3U);
  EXPECT_EQ(one.rounds->own_contributions(), 2U);
  EXPECT_TRUE(one.rounds->HasOwn(kFirstRound));
  EXPECT_FALSE(one.rounds->HasOwn(kFirstRound + 2));
  // The sum with the lower attempt counts where two share a member.
  Follower first_only(plan);
  ASSERT_TRUE(first_only.rounds->AddSum(sums[0]).ok());
  ASSERT_TRUE(first_only.rounds->AddSum(sums[2]).ok());
  first_only.Pass(kFirstRound + 2);
  EXPECT_EQ(first_only.State(kFirstRound + 2).values, one.State(kFirstRound + 2).values);
}

TEST(ClusterRoundsSums, AreTakenOutAgain) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(2);
  Follower one(plan);
  const auto sum = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  one.Pass(kFirstRound + 1);
  const GlobalState before = one.State(kFirstRound + 1);
  ASSERT_TRUE(one.rounds->AddSum(sum).ok());
  EXPECT_NE(one.State(kFirstRound + 1), before);
  (void)one.rounds->TakeChanged();
  one.rounds->OnWithdrawn(sum.id);
  EXPECT_TRUE(one.rounds->TakeChanged());
  EXPECT_EQ(one.State(kFirstRound + 1), before);
  EXPECT_FALSE(one.rounds->HasOwn(kFirstRound));
}

TEST(ClusterRoundsSums, OfAnExpelledMemberHaveNoPart) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(3);
  Follower one(plan);
  Follower without(plan);
  const auto with_liar = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  const auto clean = SomeSum(plan, kFirstRound, 5, 9, 0, random);
  ASSERT_TRUE(one.rounds->AddSum(with_liar).ok());
  ASSERT_TRUE(one.rounds->AddSum(clean).ok());
  ASSERT_TRUE(without.rounds->AddSum(clean).ok());
  one.rounds->OnExpelled(LearnerNode(2));
  EXPECT_TRUE(one.rounds->AddSum(with_liar).ok()) << "it has no effect";
  one.Pass(kFirstRound + 1);
  without.Pass(kFirstRound + 1);
  EXPECT_EQ(one.State(kFirstRound + 1), without.State(kFirstRound + 1));
  EXPECT_EQ(one.rounds->contributions(), 1U);
}

// A member that takes the state of the others counts the later sums, whether it had them before or
// gets them afterwards.
TEST(ClusterRoundsSums, CountOnTopOfAStateOfOthers) {
  const LearnerPlan plan = ShortGradientPlan();
  constexpr uint64_t kLast = kFirstRound + 22;
  Random random(4);
  std::vector<Follower> old;
  for (size_t i = 0; i < 3; ++i) {
    old.emplace_back(plan, i);
  }
  Contributions alive;
  std::vector<Item> votes;
  for (uint64_t round = kFirstRound; round <= kLast; ++round) {
    const auto sum = SomeSum(plan, round, 0, 4, 0, random);
    for (size_t i = 0; i < old.size(); ++i) {
      old[i].Pass(round);
      ASSERT_TRUE(old[i].rounds->AddSum(sum).ok());
      if (const auto checkpoint = old[i].rounds->TakeCheckpoint()) {
        votes.push_back(CheckpointItem(i, *checkpoint));
      }
    }
    alive.push_back(sum);
  }
  std::erase_if(alive, [&](const auto& sum) {
    return sum.contribution.round < old[0].rounds->FirstLiveRound();
  });
  EXPECT_LE(old[0].rounds->contributions(), plan.window + 2U) << "only the window is kept";
  ASSERT_FALSE(votes.empty());
  for (const bool sums_first : {true, false}) {
    Follower late(plan, 9);
    late.Pass(kLast);
    const auto vote = [&] {
      for (const Item& item : votes) {
        ASSERT_TRUE(late.rounds->OnItem(item).ok());
      }
    };
    if (!sums_first) {
      vote();
    }
    for (const auto& sum : alive) {
      const absl::Status added = late.rounds->AddSum(sum);
      EXPECT_TRUE(added.ok() || ReasonOf(added) == reasons::kRoundSealed) << added;
    }
    if (sums_first) {
      EXPECT_NE(late.State(kLast + 1), old[0].State(kLast + 1));
      vote();
    }
    EXPECT_EQ(late.State(kLast + 1), old[0].State(kLast + 1));
  }
}

TEST(ClusterRoundsSums, OfALongTimeAgoAreForgotten) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(5);
  Follower one(plan);
  const auto sum = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  ASSERT_TRUE(one.rounds->AddSum(sum).ok());
  const uint64_t alive = kFirstRound + 2 * plan.window + 2;
  for (uint64_t round = kFirstRound + 1; round <= alive; ++round) {
    one.Pass(round);
  }
  EXPECT_TRUE(one.rounds->HasOwn(kFirstRound));
  one.Pass(alive + 1);
  EXPECT_FALSE(one.rounds->HasOwn(kFirstRound));
  EXPECT_TRUE(one.rounds->AddSum(sum).ok());
  EXPECT_FALSE(one.rounds->HasOwn(kFirstRound)) << "it does not come back";
}

// A node that was down for long gets the sums only after its start, as it gets contributions.
TEST(ClusterRoundsSums, OfRoundsThatAreNotSettledCountHoweverOldTheyAre) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(7);
  const auto sum = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  Follower had_it(plan);
  Follower got_it(plan);
  ASSERT_TRUE(had_it.rounds->AddSum(sum).ok());
  const uint64_t later = kFirstRound + 2 * plan.window + 5;
  had_it.Pass(later);
  got_it.Pass(later);
  ASSERT_NE(got_it.State(later), had_it.State(later));
  ASSERT_TRUE(got_it.rounds->AddSum(sum).ok());
  EXPECT_EQ(got_it.State(later), had_it.State(later));
}

TEST(ClusterRoundsSums, ContributionsOfOneNodeAreNone) {
  const LearnerPlan plan = ShortGradientPlan();
  Random random(6);
  Follower one(plan);
  EXPECT_EQ(ReasonOf(one.rounds->AddSum(SomeContribution(plan, kFirstRound, 1, "", random))),
            reasons::kUpdateInvalid);
  auto sum = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  sum.origin = LearnerNode(3);
  EXPECT_EQ(ReasonOf(one.rounds->AddSum(sum)), reasons::kUpdateInvalid);
  sum = SomeSum(plan, kFirstRound, 0, 4, 0, random);
  std::ranges::reverse(sum.members);
  EXPECT_EQ(ReasonOf(one.rounds->AddSum(sum)), reasons::kUpdateInvalid);
  EXPECT_EQ(one.rounds->contributions(), 0U);
}

}  // namespace
}  // namespace ruvd::test
