// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/numerics/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ruvd::inference::train {
namespace {

using Kind = ScheduleOptions::Kind;

// Computes one step of the published algorithm by hand: after bias correction the first step has
// length lr * (sign(g) + decay * x) up to epsilon.
TEST(OptimizerTest, AdamWFollowsTheFormula) {
  Optimizer optimizer(2, {.beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1});
  std::vector<float> x = {1.0F, -2.0F};
  optimizer.Step(std::vector<float>{0.5F, -4.0F}, 0.01, x);
  EXPECT_NEAR(x[0], 1.0 - 0.01 * (1.0 + 0.1), 1e-6);
  EXPECT_NEAR(x[1], -2.0 + 0.01 * (1.0 + 0.2), 1e-6);
  const double before = x[0];
  optimizer.Step(std::vector<float>{-0.25F, 0.0F}, 0.01, x);
  const double mean = (0.9 * 0.05 + 0.1 * -0.25) / (1 - 0.81);
  const double square = (0.99 * 0.01 * 0.25 + 0.01 * 0.0625) / (1 - 0.9801);
  EXPECT_NEAR(x[0], before - 0.01 * (mean / std::sqrt(square) + 0.1 * before), 1e-6);
}

TEST(OptimizerTest, SgdFollowsTheFormula) {
  Optimizer optimizer(1,
                      {.kind = OptimizerOptions::Kind::kSgd, .weight_decay = 0.1, .momentum = 0.9});
  std::vector<float> x = {1.0F};
  optimizer.Step(std::vector<float>{0.5F}, 0.1, x);
  EXPECT_NEAR(x[0], 1.0 - 0.1 * (0.5 + 0.1), 1e-6);
  const double before = x[0];
  optimizer.Step(std::vector<float>{-1.0F}, 0.1, x);
  EXPECT_NEAR(x[0], before - 0.1 * (0.9 * 0.5 - 1.0 + 0.1 * before), 1e-6);
}

TEST(OptimizerTest, FindsTheMinimumOfABowl) {
  for (const bool adam : {true, false}) {
    Optimizer optimizer(
        3, {.kind = adam ? OptimizerOptions::Kind::kAdamW : OptimizerOptions::Kind::kSgd,
            .momentum = 0.9});
    std::vector<float> x = {3.0F, -1.0F, 0.5F};
    const double rate = adam ? 0.05 : 0.001;
    for (uint64_t step = 0; step < 800; ++step) {
      const std::vector<float> gradient = {x[0], 10 * x[1], 100 * x[2]};
      optimizer.Step(gradient, rate * LearningRateShare({}, step, 800), x);
    }
    for (const float value : x) {
      EXPECT_NEAR(value, 0.0, 0.05);
    }
  }
}

TEST(OptimizerTest, GoesOnFromItsState) {
  Optimizer first(2, {}), second(2, {});
  std::vector<float> x = {1.0F, 2.0F};
  first.Step(std::vector<float>{0.5F, 0.25F}, 0.1, x);
  std::vector<float> y = x;
  ASSERT_TRUE(second.Restore(first.state()));
  first.Step(std::vector<float>{-0.5F, 1.0F}, 0.1, x);
  second.Step(std::vector<float>{-0.5F, 1.0F}, 0.1, y);
  EXPECT_EQ(x, y);
  EXPECT_FALSE(second.Restore({.steps = 1, .first = {1.0}, .second = {1.0}}));
  EXPECT_EQ(second.state(), first.state());
}

// Groups have learning rates of their own; they decay independently of the rate.
TEST(OptimizerTest, GroupsLearnAtTheirRates) {
  for (const auto kind : {OptimizerOptions::Kind::kAdamW, OptimizerOptions::Kind::kSgd}) {
    Optimizer whole(3, {.kind = kind});
    Optimizer grouped(3, {.kind = kind},
                      {{.count = 1}, {.count = 1, .rate = 0.25}, {.count = 1, .decay = 0.5}});
    std::vector<float> x = {1.0F, 1.0F, 1.0F};
    std::vector<float> y = x;
    const std::vector<float> gradient = {0.5F, 0.5F, 0.5F};
    whole.Step(gradient, 0.1, x);
    grouped.Step(gradient, 0.1, y);
    EXPECT_EQ(y[0], x[0]);
    EXPECT_NEAR(1 - y[1], 0.25 * (1 - x[0]), 1e-6);
    EXPECT_NEAR(y[2], 0.5 * x[0], 1e-6);
  }
}

TEST(ClipNormTest, ShortensButNeverLengthens) {
  std::vector<float> g = {3.0F, 4.0F};
  EXPECT_NEAR(ClipNorm(g, 1.0), 5.0, 1e-6);
  EXPECT_NEAR(std::hypot(g[0], g[1]), 1.0, 1e-6);
  std::vector<float> small = {0.3F, 0.4F};
  EXPECT_NEAR(ClipNorm(small, 1.0), 0.5, 1e-6);
  EXPECT_FLOAT_EQ(small[0], 0.3F);
}

TEST(LearningRateTest, WarmsUpThenFollowsItsKind) {
  for (const Kind kind : {Kind::kConstant, Kind::kLinear, Kind::kCosine}) {
    const ScheduleOptions options{.kind = kind};
    EXPECT_NEAR(LearningRateShare(options, 0, 100), 0.1, 1e-12);
    EXPECT_NEAR(LearningRateShare(options, 9, 100), 1.0, 1e-12);
    EXPECT_NEAR(LearningRateShare(options, 10, 100), 1.0, 1e-12);
    EXPECT_EQ(LearningRateShare(options, 0, 1), 1.0);
  }
  EXPECT_EQ(LearningRateShare({.kind = Kind::kConstant}, 99, 100), 1.0);
  EXPECT_NEAR(LearningRateShare({.kind = Kind::kLinear}, 55, 100), 0.55, 1e-12);
  EXPECT_NEAR(LearningRateShare({.kind = Kind::kLinear}, 99, 100), 0.11, 1e-12);
  EXPECT_NEAR(LearningRateShare({.kind = Kind::kCosine}, 55, 100), 0.55, 1e-12);
  EXPECT_GT(LearningRateShare({.kind = Kind::kCosine}, 20, 100),
            LearningRateShare({.kind = Kind::kLinear}, 20, 100));
  EXPECT_EQ(LearningRateShare({.kind = Kind::kLinear, .warm_up = 0}, 0, 100), 1.0);
}

TEST(LearningRateTest, OneCycleGoesUpAndDown) {
  const ScheduleOptions options{.kind = Kind::kOneCycle, .warm_up = 0.3, .final_share = 0.001};
  EXPECT_NEAR(LearningRateShare(options, 0, 100), 1.0 / 25, 1e-12);
  EXPECT_NEAR(LearningRateShare(options, 15, 100), 0.52, 1e-12);
  EXPECT_NEAR(LearningRateShare(options, 30, 100), 1.0, 1e-12);
  EXPECT_NEAR(LearningRateShare(options, 65, 100), 0.5005, 1e-12);
  EXPECT_LT(LearningRateShare(options, 99, 100), 0.01);
}

}  // namespace
}  // namespace ruvd::inference::train
