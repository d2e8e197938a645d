// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/core_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace ruvd::inference {
namespace {

TEST(CoreGridTest, ValuesAreRoundedToTheNearestStep) {
  const std::vector<float> values = {1.0F, -0.5F, 0.003F, 0.0085F};
  const GridValues grid = ToGrid(values);
  EXPECT_EQ(grid.exponent, -6);
  EXPECT_EQ(grid.steps, (std::vector<int8_t>{64, -32, 0, 1}));
  EXPECT_EQ(FromGrid(grid), (std::vector<float>{1.0F, -0.5F, 0.0F, 0.015625F}));
}

TEST(CoreGridTest, WhatIsOnAGridStaysAsItIs) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    const double size = std::exp2(80 * (random.Uniform() - 0.5));
    std::vector<float> values(64);
    for (float& value : values) {
      value = static_cast<float>(size * random.Normal());
    }
    const GridValues grid = ToGrid(values);
    EXPECT_TRUE(IsCanonical(grid));
    const std::vector<float> rounded = FromGrid(grid);
    EXPECT_EQ(ToGrid(rounded), grid);
    const auto largest = std::abs(
        *std::ranges::max_element(values, {}, [](float value) { return std::abs(value); }));
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_LE(std::abs(rounded[i] - values[i]), largest / 126) << "at most half a step";
    }
  }
}

TEST(CoreGridTest, ZerosAndWhatIsTooSmallHaveTheFinestGrid) {
  for (const float value : {0.0F, -0.0F, 1e-38F}) {
    const GridValues grid = ToGrid(std::vector<float>{value, value});
    EXPECT_EQ(grid, (GridValues{.steps = {0, 0}}));
    EXPECT_TRUE(IsCanonical(grid));
  }
  EXPECT_TRUE(IsCanonical(ToGrid({})));
}

// A largest value that is rounded up to 128 steps needs the next grid.
TEST(CoreGridTest, TheLargestValueIsNeverCutOff) {
  const float below_two = std::nextafter(2.0F, 0.0F);
  const GridValues grid = ToGrid(std::vector<float>{below_two, -below_two});
  EXPECT_EQ(grid.exponent, -5);
  EXPECT_EQ(grid.steps, (std::vector<int8_t>{64, -64}));
}

// Found by review: a decoder took grids whose values ToGrid aborted on.
TEST(CoreGridTest, TheLargestGridIsOneThatCanBeMadeAgain) {
  const GridValues largest{.exponent = kMaxGridExponent, .steps = {127, -127, 64}};
  EXPECT_TRUE(IsCanonical(largest));
  EXPECT_EQ(ToGrid(FromGrid(largest)), largest);
  EXPECT_FALSE(IsCanonical({.exponent = kMaxGridExponent + 1, .steps = {64}}));
}

TEST(CoreGridTest, CoresAreHalvedUntilTheirNormIsAccepted) {
  CoreSet cores;
  cores.cores["small"] = {.rank = 1, .values = {0.25F}};
  EXPECT_FALSE(RoundToGrid(&cores, 16));
  EXPECT_EQ(cores.cores["small"].values, std::vector<float>{0.25F});
  cores.cores["large"] = {.rank = 1, .values = {std::ldexp(1.0F, 120)}};
  EXPECT_TRUE(RoundToGrid(&cores, 16));
  EXPECT_EQ(cores.cores["large"].values, std::vector<float>{16});
  EXPECT_EQ(cores.cores["small"].values, std::vector<float>{0}) << "in step with the large one";
}

TEST(CoreGridTest, OneGridOfEqualValuesIsCanonical) {
  EXPECT_TRUE(IsCanonical({.exponent = -6, .steps = {64}}));
  EXPECT_FALSE(IsCanonical({.exponent = -5, .steps = {32}}));
  EXPECT_FALSE(IsCanonical({.exponent = -5, .steps = {0}}));
  EXPECT_FALSE(IsCanonical({.exponent = -6, .steps = {-128}}));
  EXPECT_FALSE(IsCanonical({.exponent = 120, .steps = {64}}));
  EXPECT_FALSE(IsCanonical({.exponent = -120, .steps = {0}}));
}

}  // namespace
}  // namespace ruvd::inference
