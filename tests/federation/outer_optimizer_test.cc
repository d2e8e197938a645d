// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/outer_optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace ruvd::test {
namespace {

std::vector<float> Moves(const federation::OuterOptions& options, double noise) {
  federation::OuterOptimizer optimizer = *federation::OuterOptimizer::Create(1, options);
  std::vector<float> moves;
  for (const float delta : {0.25F, -0.5F, 0.125F}) {
    auto proposal = optimizer.Propose(std::vector<float>{delta}, noise);
    moves.push_back(proposal.move[0]);
    optimizer.Commit(std::move(proposal));
  }
  return moves;
}

TEST(OuterOptimizer, PlainAndMomentum) {
  EXPECT_EQ(Moves({.step = 0.5}, 1), (std::vector<float>{0.125F, -0.25F, 0.0625F}));
  const federation::OuterOptions heavy{.kind = federation::OuterOptions::Kind::kMomentum,
                                       .step = 1,
                                       .momentum = 0.5,
                                       .nesterov = false};
  EXPECT_EQ(Moves(heavy, 0), (std::vector<float>{0.25F, -0.375F, -0.0625F}));
  federation::OuterOptions nesterov = heavy;
  nesterov.nesterov = true;
  EXPECT_EQ(Moves(nesterov, 0), (std::vector<float>{0.375F, -0.6875F, 0.09375F}));
}

// The expected values come from Python.
TEST(OuterOptimizer, AdamTakesTheNoiseOffTheSecondMoment) {
  const federation::OuterOptions adam{.kind = federation::OuterOptions::Kind::kAdam, .step = 0.5};
  const auto plain = Moves(adam, 0);
  EXPECT_NEAR(plain[0], 0.49800796812749004, 1e-6);
  EXPECT_NEAR(plain[1], -0.18234325451972738, 1e-6);
  EXPECT_NEAR(plain[2], -0.06818397398795797, 1e-6);
  const auto noisy = Moves(adam, 0.03);
  EXPECT_NEAR(noisy[0], 0.6895503083679476, 1e-6);
  EXPECT_NEAR(noisy[1], -0.2027245434539678, 1e-6);
  EXPECT_NEAR(noisy[2], -0.08001863448448962, 1e-6);
}

TEST(OuterOptimizer, AdamMovesWhatTheNoiseHidesByLittle) {
  const federation::OuterOptions adam{
      .kind = federation::OuterOptions::Kind::kAdam, .step = 1, .epsilon = 1e-6};
  federation::OuterOptimizer optimizer = *federation::OuterOptimizer::Create(1, adam);
  for (int round = 0; round < 5; ++round) {
    auto proposal = optimizer.Propose(std::vector<float>{0.1F}, 0.04);  // 0.1^2 < 0.04
    EXPECT_NEAR(proposal.move[0], 1, 1e-4) << round;                    // 0.1 / sqrt(0.04 / 4)
    optimizer.Commit(std::move(proposal));
  }
}

// The bias correction needs no power function, whose last bits depend on the machine.
TEST(OuterOptimizer, KeepsThePowersOfItsDecaysAsProducts) {
  const federation::OuterOptions adam{.kind = federation::OuterOptions::Kind::kAdam, .step = 0.5};
  federation::OuterOptimizer whole = *federation::OuterOptimizer::Create(1, adam);
  federation::OuterOptimizer resumed = whole;
  double beta1 = 1;
  double beta2 = 1;
  for (int round = 1; round <= 40; ++round) {
    const std::vector<float> delta = {0.01F * static_cast<float>(round % 7)};
    auto proposal = whole.Propose(delta, 0);
    EXPECT_EQ(resumed.Propose(delta, 0).move, proposal.move) << round;
    whole.Commit(std::move(proposal));
    beta1 *= adam.beta1;
    beta2 *= adam.beta2;
    EXPECT_EQ(whole.state().beta1_power, beta1);
    EXPECT_EQ(whole.state().beta2_power, beta2);
    EXPECT_NEAR(beta2, std::pow(adam.beta2, round), 1e-15);
    resumed = *federation::OuterOptimizer::Restore(1, adam, whole.state());
  }
}

TEST(OuterOptimizer, RefusesPowersThatNoStepsGive) {
  using Options = federation::OuterOptions;
  const Options adam{.kind = Options::Kind::kAdam};
  federation::OuterOptimizer optimizer = *federation::OuterOptimizer::Create(1, adam);
  EXPECT_TRUE(federation::OuterOptimizer::Restore(1, adam, optimizer.state()).ok());
  federation::OuterOptimizer::State state = optimizer.state();
  state.beta1_power = 0.9;
  EXPECT_FALSE(federation::OuterOptimizer::Restore(1, adam, state).ok()) << "before any step";
  optimizer.Commit(optimizer.Propose(std::vector<float>{1}, 0));
  state = optimizer.state();
  state.beta2_power = 1;
  EXPECT_FALSE(federation::OuterOptimizer::Restore(1, adam, state).ok()) << "would divide by 0";
  federation::OuterOptimizer plain = *federation::OuterOptimizer::Create(1, Options());
  state = plain.state();
  state.beta1_power = 0.5;
  EXPECT_FALSE(federation::OuterOptimizer::Restore(1, Options(), state).ok());
}

TEST(OuterOptimizer, ADroppedProposalLeavesNoTrace) {
  const federation::OuterOptions adam{.kind = federation::OuterOptions::Kind::kAdam, .step = 0.5};
  federation::OuterOptimizer optimizer = *federation::OuterOptimizer::Create(1, adam);
  const std::vector<float> wild = {100};
  const std::vector<float> delta = {0.25F};
  optimizer.Propose(wild, 0);
  EXPECT_EQ(optimizer.Propose(delta, 0).move[0], Moves(adam, 0)[0]);
}

TEST(OuterOptimizer, RefusesStepsAboveOne) {
  EXPECT_FALSE(federation::OuterOptimizer::Create(1, {.step = 1.5}).ok());
  EXPECT_FALSE(federation::OuterOptimizer::Create(1, {.step = 0}).ok());
  EXPECT_FALSE(federation::OuterOptimizer::Create(1, {.momentum = 1}).ok());
}

}  // namespace
}  // namespace ruvd::test
