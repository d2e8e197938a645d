// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Noise that the members of a clique share.

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/dp/zcdp.h"

namespace ruvd::privacy::dp {
namespace {

TEST(SplitNoise, TheHonestReachWhatWasAskedFor) {
  const NoiseGrid grid = MakeNoiseGrid(1, 0.6, 1000).value();
  for (const uint32_t contributors : {4U, 7U, 16U}) {
    for (const uint32_t colluders : {0U, 1U, contributors - 1}) {
      const NoiseShares shares = SplitNoise(grid, contributors, colluders, 1000).value();
      const double sum = shares.share_units * std::sqrt(contributors - colluders);
      EXPECT_GE(sum, grid.sigma_units);
      EXPECT_LT(sum, grid.sigma_units + std::sqrt(contributors));
      EXPECT_GE(shares.noise_multiplier, grid.NoiseMultiplier());
      // The loss of sums of discrete Gaussians vanishes at shares of many units.
      EXPECT_NEAR(shares.rho, GaussianRho(shares.noise_multiplier), 1e-12);
      EXPECT_EQ(NoiseShareGrid(grid, shares).clip_units, grid.clip_units);
      EXPECT_EQ(NoiseShareGrid(grid, shares).sigma_units, shares.share_units);
    }
  }
}

// The figures of the formula were computed independently: sigma 1 and 2 contributors give a
// distance of 10 e^(-pi^2), 5.1723e-4.
TEST(SplitNoise, CoarseSharesAreChargedForNotBeingGaussian) {
  const NoiseGrid grid = {.exponent = 0, .clip_units = 1, .sigma_units = 1};
  const NoiseShares shares = SplitNoise(grid, 2, 0, 1).value();
  ASSERT_EQ(shares.share_units, 1U);
  const double distance = 10 * std::exp(-M_PI * M_PI);
  EXPECT_NEAR(distance, 5.1723e-4, 1e-8);
  EXPECT_NEAR(shares.rho, std::pow(std::sqrt(0.5) + distance, 2) / 2, 1e-12);
  EXPECT_GT(shares.rho, GaussianRho(shares.noise_multiplier));
  EXPECT_NEAR(SplitNoise(grid, 2, 0, 10'000).value().rho,
              std::pow(std::sqrt(0.5) + 100 * distance, 2) / 2, 1e-12);
  // Where the sensitivity is above the root of the dimension, the additive form is smaller.
  const NoiseGrid strong = {.exponent = 0, .clip_units = 4, .sigma_units = 1};
  EXPECT_NEAR(SplitNoise(strong, 2, 0, 1).value().rho, 4 + distance, 1e-12);
}

TEST(SplitNoise, RefusesWhatNobodyHonestContributesTo) {
  const NoiseGrid grid = MakeNoiseGrid(1, 0.6, 10).value();
  EXPECT_EQ(ReasonOf(SplitNoise(grid, 4, 4, 10).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(SplitNoise(grid, 0, 0, 10).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(SplitNoise(grid, 4, 0, 0).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(SplitNoise({}, 4, 0, 1).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(SplitNoise(grid, 17, 0, 10).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(SplitNoise({.clip_units = 1 << 19, .sigma_units = 1}, 4, 0, 1).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(SplitNoise({.clip_units = 64, .sigma_units = 4097}, 4, 0, 1).status()),
            reasons::kInvalidArgument);
}

TEST(SplitNoise, DrawnSharesAddUpToItsVariance) {
  const NoiseGrid grid = {.exponent = 0, .clip_units = 64, .sigma_units = 90};
  const NoiseShares shares = SplitNoise(grid, 9, 0, 1).value();
  ASSERT_EQ(shares.share_units, 30U);
  const DiscreteGaussian noise = DiscreteGaussian::Create(shares.share_units).value();
  Random random(8);
  const RandomBytes bytes = [&random](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random.Next() >> 56);
    }
  };
  constexpr int kRuns = 20'000;
  double squares = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::array<int32_t, 9> drawn{};
    noise.Sample(bytes, drawn);
    double sum = 0;
    for (const int32_t share : drawn) {
      sum += share;
    }
    squares += sum * sum;
  }
  // The bound is five standard errors of a variance: sqrt(2 / runs).
  EXPECT_NEAR(squares / kRuns / (90.0 * 90), 1, 5 * std::sqrt(2.0 / kRuns));
}

// Before the second clip, rounding may raise a norm to the bound that others charge for (Kairouz,
// Liu and Steinke 2021, proposition 26): the clip norm plus half the root of the dimension here, as
// this rounding is to the nearest. The second clip takes that back.
TEST(SplitNoise, NoRoundingRaisesTheSensitivity) {
  constexpr size_t kDimension = 10'000;
  const NoiseGrid grid = MakeNoiseGrid(1, 0.5, kDimension).value();
  // Every value lies above half a unit, so that rounding raises all of them.
  std::vector<int32_t> units(kDimension);
  const double value = static_cast<double>(grid.clip_units) / std::sqrt(kDimension);
  double before = 0;
  for (int32_t& unit : units) {
    unit = static_cast<int32_t>(std::ceil(value + 0.4));
    before += static_cast<double>(unit) * unit;
  }
  ASSERT_GT(std::sqrt(before), static_cast<double>(grid.clip_units));
  ClipIntegers(units, grid.clip_units);
  double after = 0;
  for (const int32_t unit : units) {
    after += static_cast<double>(unit) * unit;
  }
  EXPECT_LE(std::sqrt(after), static_cast<double>(grid.clip_units));
}

}  // namespace
}  // namespace ruvd::privacy::dp
