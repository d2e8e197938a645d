// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/sodium.h"

namespace ruvd::privacy::dp {
namespace {

RandomBytes Seeded(Random& random) {
  return [&random](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random.Next() >> 56);
    }
  };
}

// Returns the probability of k, in floating point.
double Probability(double sigma, int k) {
  double sum = 0;
  for (int i = -static_cast<int>(40 * sigma); i <= static_cast<int>(40 * sigma); ++i) {
    sum += std::exp(-0.5 * i * i / (sigma * sigma));
  }
  return std::exp(-0.5 * k * k / (sigma * sigma)) / sum;
}

// Returns Pearson's statistic over the values -bound to bound and one bin for the rest, in standard
// deviations above its mean: 2 * bound + 1 degrees of freedom.
double ChiSquareExcess(std::span<const int32_t> draws, double sigma, int bound) {
  std::map<int, double> counts;
  double beyond = 0;
  for (const int32_t draw : draws) {
    (std::abs(draw) <= bound ? counts[draw] : beyond) += 1;
  }
  const auto total = static_cast<double>(draws.size());
  double statistic = 0;
  double rest = 1;
  for (int k = -bound; k <= bound; ++k) {
    const double expected = total * Probability(sigma, k);
    statistic += (counts[k] - expected) * (counts[k] - expected) / expected;
    rest -= Probability(sigma, k);
  }
  statistic += (beyond - total * rest) * (beyond - total * rest) / (total * rest);
  const double freedom = 2 * bound + 1;
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

TEST(DpThresholds, AreTheDistributionToTheDigitsOfADouble) {
  for (const uint32_t sigma : {1u, 7u, 64u}) {
    const std::vector<Uint128> thresholds = DiscreteGaussianThresholds(sigma).value();
    ASSERT_EQ(thresholds.size(), 13 * sigma);
    Uint128 before = 0;
    for (size_t k = 0; k < thresholds.size(); ++k) {
      ASSERT_LE(before, thresholds[k]);
      const double mass = std::ldexp(static_cast<double>(thresholds[k] - before), -127);
      const double exact = (k == 0 ? 1 : 2) * Probability(sigma, static_cast<int>(k));
      EXPECT_NEAR(mass, exact, exact * 1e-12 + 0x1p-90) << sigma << " " << k;
      before = thresholds[k];
    }
    // This is the probability beyond the table.
    EXPECT_LT(std::ldexp(static_cast<double>((Uint128{1} << 127) - before), -127), 0x1p-90);
  }
}

TEST(DpThresholds, TheLargestTableStillEndsAtOne) {
  const std::vector<Uint128> thresholds = DiscreteGaussianThresholds(4096).value();
  EXPECT_NEAR(std::ldexp(static_cast<double>(thresholds[0]), -127) / Probability(4096, 0), 1,
              1e-10);
  const Uint128 left = (Uint128{1} << 127) - thresholds.back();
  EXPECT_LT(std::ldexp(static_cast<double>(left), -127), 0x1p-90);
  EXPECT_EQ(ReasonOf(DiscreteGaussianThresholds(0).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(DiscreteGaussianThresholds(4097).status()), reasons::kInvalidArgument);
}

TEST(DpDiscreteGaussian, ChiSquareAcceptsItAndRejectsAnotherSigma) {
  Random random(20260101);
  for (const uint32_t sigma : {1u, 3u, 20u}) {
    std::vector<int32_t> draws(100'000);
    DiscreteGaussian::Create(sigma).value().Sample(Seeded(random), draws);
    const int bound = static_cast<int>(3 * sigma);
    EXPECT_LT(ChiSquareExcess(draws, sigma, bound), 5) << sigma;
    EXPECT_GT(ChiSquareExcess(draws, sigma * 1.05, bound), 5) << sigma;
    EXPECT_GT(ChiSquareExcess(draws, sigma * 0.95, bound), 5) << sigma;
  }
}

TEST(DpDiscreteGaussian, EveryDrawTakesTheSameBytesAndBothSignsAppear) {
  const DiscreteGaussian noise = DiscreteGaussian::Create(5).value();
  size_t taken = 0;
  Random random(7);
  const RandomBytes seeded = Seeded(random);
  std::vector<int32_t> draws(1000);
  noise.Sample(
      [&](std::span<uint8_t> out) {
        taken += out.size();
        seeded(out);
      },
      draws);
  EXPECT_EQ(taken, 16 * draws.size());
  EXPECT_TRUE(std::ranges::any_of(draws, [](int32_t draw) { return draw > 0; }));
  EXPECT_TRUE(std::ranges::any_of(draws, [](int32_t draw) { return draw < 0; }));
  EXPECT_TRUE(std::ranges::any_of(draws, [](int32_t draw) { return draw == 0; }));
}

TEST(DpDiscreteGaussian, TheEndsOfTheRandomBitsAreTheEndsOfTheTable) {
  const DiscreteGaussian noise = DiscreteGaussian::Create(2).value();
  std::vector<int32_t> draw(1);
  const auto with = [&](uint8_t low, uint8_t top) {
    noise.Sample(
        [&](std::span<uint8_t> out) {
          std::ranges::fill(out, low);
          out.back() = top;
        },
        draw);
    return draw[0];
  };
  EXPECT_EQ(with(0, 0), 0);
  EXPECT_EQ(with(0, 0x80), 0);
  EXPECT_EQ(with(0xFF, 0x7F), 26);  // beyond every threshold
  EXPECT_EQ(with(0xFF, 0xFF), -26);
}

TEST(DpDiscreteGaussian, DrawsFromTheSystemsGenerator) {
  std::vector<int32_t> draws(20'000);
  DiscreteGaussian::Create(10).value().Sample(SecureRandomBytes, draws);
  double squares = 0;
  for (const int32_t draw : draws) {
    squares += static_cast<double>(draw) * draw;
  }
  // The standard error of the variance is 1 %.
  EXPECT_NEAR(squares / static_cast<double>(draws.size()), 100, 8);
}

}  // namespace
}  // namespace ruvd::privacy::dp
