// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/uncertainty.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"

namespace ruvd::inference {
namespace {

TEST(StepUncertaintyTest, TakesPositionsTogether) {
  constexpr float kNever = std::numeric_limits<float>::infinity();
  const std::vector<PositionUncertainty> positions = {
      {.entropy = 0.2F, .margin = 0.5F, .confidence = 0.8F, .movement = 0.4F},
      {.entropy = 0.6F, .margin = 0.1F, .confidence = 0.4F, .movement = kNever},
      {.entropy = 0.4F, .margin = 0.3F, .confidence = 0.6F, .movement = 0.2F}};
  const StepUncertainty step = UncertaintyOf(positions, 0.7F);
  EXPECT_FLOAT_EQ(step.t, 0.7F);
  EXPECT_EQ(step.positions, 3);
  EXPECT_FLOAT_EQ(step.entropy, 0.4F);
  EXPECT_FLOAT_EQ(step.margin, 0.3F);
  EXPECT_NEAR(step.confidence_variance, 0.08 / 3, 1e-6);
  EXPECT_FLOAT_EQ(step.movement, 0.3F);
}

TEST(StepUncertaintyTest, NoPositionIsNoUncertainty) {
  const StepUncertainty step = UncertaintyOf({}, 0.5F);
  EXPECT_EQ(step.positions, 0);
  EXPECT_EQ(step.entropy, 0);
  EXPECT_EQ(step.movement, 0);
}

RC_GTEST_PROP(TimestepStatisticsTest, AreTheWeightedMomentsOfTheirBin, (uint64_t seed)) {
  Random random(seed);
  const float decay = random.Bernoulli(0.3) ? 1.0F : 0.9F;
  TimestepStatistics statistics(decay);
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    const auto value = static_cast<float>(3 + random.Normal());
    if (random.Bernoulli(0.5)) {
      statistics.Add(0.55F, value);
      values.push_back(value);
    } else {
      statistics.Add(0.65F, 100 * value);  // in another bin
    }
  }
  double weight = 0;
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double own = std::pow(static_cast<double>(decay), values.size() - 1.0 - i);
    weight += own;
    sum += own * values[i];
  }
  RC_PRE(!values.empty());
  const double mean = sum / weight;
  double squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double own = std::pow(static_cast<double>(decay), values.size() - 1.0 - i);
    squares += own * (values[i] - mean) * (values[i] - mean);
  }
  RC_ASSERT(std::abs(statistics.Mean(0.55F) - mean) < 1e-5);
  RC_ASSERT(std::abs(statistics.Variance(0.55F) - squares / weight) < 1e-5);
  if (values.size() >= TimestepStatistics::kMinValues) {
    const double expected = (5 - mean) / std::sqrt(squares / weight);
    RC_ASSERT(std::abs(statistics.ZScore(0.55F, 5) - expected) < 1e-3 * std::abs(expected) + 1e-3);
  }
}

TEST(TimestepStatisticsTest, FewOrEqualValuesMakeNothingUnusual) {
  TimestepStatistics statistics;
  for (int i = 0; i < TimestepStatistics::kMinValues - 1; ++i) {
    statistics.Add(0.95F, static_cast<float>(i));
  }
  EXPECT_EQ(statistics.ZScore(0.95F, 100), 0);
  statistics.Add(0.95F, 3);
  EXPECT_GT(statistics.ZScore(0.95F, 100), 10);
  for (int i = 0; i < 20; ++i) {
    statistics.Add(0.05F, 2);
    statistics.Add(0.05F, std::numeric_limits<float>::quiet_NaN());
  }
  EXPECT_EQ(statistics.Count(0.05F), 20);
  EXPECT_EQ(statistics.ZScore(0.05F, 100), 0);
}

TEST(TimestepStatisticsTest, TheEdgesOfTHaveBins) {
  TimestepStatistics statistics;
  statistics.Add(1.0F, 5);
  statistics.Add(0.0F, 7);
  EXPECT_EQ(statistics.Mean(0.99F), 5);
  EXPECT_EQ(statistics.Mean(0.01F), 7);
}

}  // namespace
}  // namespace ruvd::inference
