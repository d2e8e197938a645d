// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/outer_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "federation/learner/rounds.h"
#include "tests/federation/learner_fixture.h"

namespace ruvd::test {
namespace {

using federation::BankedValues;
using federation::EmptyState;
using federation::GlobalState;
using federation::LearnerPlan;
using federation::TakeOuterStep;

constexpr double kHold = 0.5;

// A plan of gradients that holds: the values of the lower bank by 1, those of the upper by 2, but
// the first of each bank not at all.
LearnerPlan HeldPlan(federation::OuterOptions outer) {
  LearnerPlan plan = GradientPlan();
  plan.outer = outer;
  plan.local.hold = kHold;
  std::vector<float> fisher(2 * kLearnerValues, 1);
  std::fill(fisher.begin() + kLearnerValues, fisher.end(), 2.0F);
  fisher[0] = fisher[kLearnerValues] = 0;
  plan.fisher = std::make_shared<const std::vector<float>>(fisher);
  return plan;
}

GlobalState Filled(const LearnerPlan& plan, float value) {
  GlobalState state = EmptyState(plan, 1);
  for (std::vector<float>& bank : state.values) {
    std::ranges::fill(bank, value);
  }
  return state;
}

TEST(TakeOuterStepTest, AHoldPullsWhatMattersToGeneralTextTowardsTheModel) {
  const LearnerPlan plan = HeldPlan({.kind = federation::OuterOptions::Kind::kPlain});
  GlobalState state = Filled(plan, 4);
  for (const size_t bank : {0, 1}) {
    TakeOuterStep(plan, {.bank = bank, .values = std::vector<float>(kLearnerValues, 0.25F)},
                  &state);
  }
  EXPECT_EQ(state.values[0][0], 4.25F);
  EXPECT_EQ(state.values[0][1], 4.25F - 4 * kHold);
  EXPECT_EQ(state.values[1][0], 4.25F);
  EXPECT_EQ(state.values[1][1], 4.25F - 2 * 4 * kHold);
}

TEST(TakeOuterStepTest, ASmallerShareShortensTheHoldToo) {
  const LearnerPlan plan = HeldPlan({.kind = federation::OuterOptions::Kind::kPlain});
  GlobalState state = Filled(plan, 4);
  TakeOuterStep(plan, {.bank = 0, .values = std::vector<float>(kLearnerValues, 1.0F), .share = 0.5},
                &state);
  EXPECT_EQ(state.values[0][1], 4 + (1 - 4 * kHold) / 2);
}

// The length of Adam's moves does not follow from that of the delta.
TEST(TakeOuterStepTest, ASmallerShareShortensTheMovesOfAdam) {
  const LearnerPlan plan =
      HeldPlan({.kind = federation::OuterOptions::Kind::kAdam, .step = 0.25, .epsilon = 1e-6});
  const auto moved = [&plan](double share) {
    GlobalState state = Filled(plan, 4);
    TakeOuterStep(plan,
                  {.bank = 0, .values = std::vector<float>(kLearnerValues, 1.0F), .share = share},
                  &state);
    return state.values[0][0] - 4;
  };
  EXPECT_NEAR(moved(1), 0.25, 1e-3);
  EXPECT_NEAR(moved(0.5), 0.125, 1e-3);
}

TEST(TakeOuterStepTest, DeltasAreNotHeldASecondTime) {
  LearnerPlan plan = DeltaPlan();
  plan.local.hold = kHold;
  GlobalState state = Filled(plan, 4);
  TakeOuterStep(plan, {.bank = 0, .values = std::vector<float>(kLearnerValues, 1.0F)}, &state);
  EXPECT_EQ(state.values[0], std::vector<float>(kLearnerValues, 5.0F));
}

// Rounds whose gradients are all zero bring back what the hold covers, and nothing else.
TEST(TakeOuterStepTest, RoundsOfGradientsAreHeld) {
  const LearnerPlan plan = HeldPlan({.kind = federation::OuterOptions::Kind::kAdam, .step = 0.25});
  Random random(3);
  Contributions set;
  for (uint64_t round = 1; round <= 4; ++round) {
    set.push_back(SomeContribution(plan, round, 0, "held", random));
    std::ranges::fill(set.back().contribution.units, round == 1 ? 500 : 0);
  }
  LearnerPlan free = plan;
  free.local.hold = 0;
  Contributions unheld = set;
  for (federation::RoundContribution& one : unheld) {
    one.contribution.plan = free.Id();
  }
  const BankedValues held = After(plan, 4, set).values;
  const BankedValues expected = After(free, 4, unheld).values;
  EXPECT_EQ(held[0][0], expected[0][0]);
  EXPECT_LT(held[0][1], expected[0][1]);
  EXPECT_LT(held[1][1], held[0][1]) << "the upper bank is held more";
}

}  // namespace
}  // namespace ruvd::test
