// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/grid_release.h"
#include "privacy/dp/snr.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

TEST(DpNoiseGrid, IsAPowerOfTwoWithAtLeastTheNoiseAskedFor) {
  const NoiseGrid small = MakeNoiseGrid(1, 1.1, 10).value();
  EXPECT_EQ(small.exponent, -6);
  EXPECT_EQ(small.clip_units, 64);
  EXPECT_EQ(small.sigma_units, 71u);
  EXPECT_GE(small.NoiseMultiplier(), 1.1);
  // Rounding 1792 values moves them by 21 units at most, an eighth of 170.
  const NoiseGrid core = MakeNoiseGrid(0.4, 1.342, 1792).value();
  EXPECT_GE(core.clip_units, 170);
  EXPECT_LE(std::ldexp(static_cast<double>(core.clip_units), core.exponent), 0.4);
  EXPECT_EQ(ReasonOf(MakeNoiseGrid(1, 100, 1'000'000).status()), reasons::kLimitExceeded);
  EXPECT_EQ(ReasonOf(MakeNoiseGrid(0, 1, 10).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(MakeNoiseGrid(1, 0, 10).status()), reasons::kInvalidArgument);
}

RC_GTEST_PROP(DpNoiseGrid, IntegersNeverKeepANormAboveTheClip, ()) {
  const int64_t clip = *rc::gen::inRange<int64_t>(1, 5000);
  std::vector<int32_t> units = *rc::gen::container<std::vector<int32_t>>(
      rc::gen::inRange<int32_t>(-limits::kMaxGridUnits, limits::kMaxGridUnits + 1));
  const std::vector<int32_t> before = units;
  ClipIntegers(units, clip);
  int64_t squares = 0;
  int64_t squares_before = 0;
  for (size_t i = 0; i < units.size(); ++i) {
    squares += int64_t{units[i]} * units[i];
    squares_before += int64_t{before[i]} * before[i];
    RC_ASSERT(std::abs(units[i]) <= std::abs(before[i]));
  }
  RC_ASSERT(squares <= clip * clip);
  RC_ASSERT(squares_before > clip * clip || units == before);
}

TEST(DpSnr, DimensionDecides) {
  // The noise multipliers are those of epsilon 8 and 1. At these dimensions, signal and noise of 64
  // nodes are equal.
  SnrParameters question{.noise_multiplier = 0.6002290722, .dimension = 178, .contributors = 64};
  EXPECT_NEAR(PredictSnr(question).value(), 1, 0.002);
  question.place = NoiseLocation::kSum;
  question.dimension = 11'369;
  EXPECT_NEAR(PredictSnr(question).value(), 1, 0.001);
  question = {.noise_multiplier = 3.7306316348, .dimension = 5, .contributors = 64};
  EXPECT_NEAR(PredictSnr(question).value(), 0.96, 0.01);
  // Example-level training as it was measured: batches of 8, 60 steps of 6 nodes.
  question = {.place = NoiseLocation::kSum,
              .noise_multiplier = 0.458,
              .dimension = 1792,
              .contributors = 8,
              .signal = 0.09};
  EXPECT_NEAR(PredictSnr(question).value(), 0.037, 0.001);
  question.releases = 360;
  EXPECT_NEAR(PredictSnr(question).value(), 0.7, 0.01);
}

TEST(DpSnr, AQuestionOutOfRangeIsRefused) {
  EXPECT_EQ(ReasonOf(PredictSnr({.dimension = 0}).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(PredictSnr({.signal = 1.5}).status()), reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::privacy::dp
