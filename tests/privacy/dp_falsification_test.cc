// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Attempts to refute the privacy that a release claims: it is run many times over two adjacent data
// sets, and for every half line of outputs the share that falls in must obey p <= e^epsilon p' +
// delta, delta the exact one of the claimed noise. What has too little noise, or clips its banks
// one by one, is caught by the same test.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"
#include "privacy/dp/analytic_gaussian.h"
#include "privacy/dp/grid_release.h"

namespace ruvd::dp {
namespace {

constexpr int kRuns = 20'000;
constexpr double kClaimed = 1;  // noise multiplier
// A false alarm needs one of some hundred half lines this many standard errors off.
constexpr double kStandardErrors = 5;

RandomBytes Seeded(Random& random) {
  return [&random](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random.Next() >> 56);
    }
  };
}

// Runs a mechanism over the data set with or without the one record.
using Mechanism = std::function<double(bool with, const RandomBytes& random)>;

std::vector<double> SortedOutputs(const Mechanism& mechanism, bool with, uint64_t seed) {
  Random random(seed);
  const RandomBytes bytes = Seeded(random);
  std::vector<double> outputs(kRuns);
  for (double& output : outputs) {
    output = mechanism(with, bytes);
  }
  std::ranges::sort(outputs);
  return outputs;
}

double ShareAbove(const std::vector<double>& sorted, double threshold) {
  return static_cast<double>(sorted.end() - std::ranges::lower_bound(sorted, threshold)) / kRuns;
}

// By how many standard errors the worst half line breaks the claim; negative where none does.
double WorstViolation(const Mechanism& mechanism) {
  const std::vector<double> with = SortedOutputs(mechanism, true, 11);
  const std::vector<double> without = SortedOutputs(mechanism, false, 22);
  double worst = -1e9;
  for (const double epsilon : {0.0, 0.5, 1.0, 2.0}) {
    const double delta = GaussianDelta(kClaimed, epsilon).value();
    for (size_t i = kRuns / 40; i < kRuns; i += kRuns / 40) {
      const double p = ShareAbove(with, with[i]);
      const double q = ShareAbove(without, with[i]);
      const double factor = std::exp(epsilon);
      const double error =
          std::sqrt((p * (1 - p) + factor * factor * q * (1 - q)) / kRuns) + 1.0 / kRuns;
      worst = std::max(worst, (p - factor * q - delta) / error);
    }
  }
  return worst;
}

// What the record adds: more than the clip norm of 1, spread over two banks.
std::array<std::vector<float>, 2> Record(bool with) {
  return {std::vector<float>{with ? 5.0F : 0.0F}, std::vector<float>{with ? 5.0F : 0.0F}};
}

// The real release, along the direction of the record.
Mechanism Release(const NoiseGrid& grid) {
  const DiscreteGaussian noise = DiscreteGaussian::Create(grid.sigma_units).value();
  return [grid, noise](bool with, const RandomBytes& random) {
    auto values = Record(with);
    const std::array<std::span<float>, 2> banks = {values[0], values[1]};
    const std::array<size_t, 2> layout = {1, 1};
    const NoisedUpdate update = ReleaseOnGrid(banks, layout, grid, noise, random).value();
    return update.ValueAt(0) + update.ValueAt(1);
  };
}

TEST(DpFalsification, TheReleaseKeepsItsClaim) {
  EXPECT_LT(WorstViolation(Release(MakeNoiseGrid(1, kClaimed, 2).value())), kStandardErrors);
}

TEST(DpFalsification, CatchesTooLittleNoise) {
  for (const double share : {0.5, 0.85}) {
    NoiseGrid grid = MakeNoiseGrid(1, kClaimed, 2).value();
    grid.sigma_units = static_cast<uint32_t>(grid.sigma_units * share);
    EXPECT_GT(WorstViolation(Release(grid)), kStandardErrors) << share;
  }
}

TEST(DpFalsification, CatchesBanksThatAreClippedOneByOne) {
  const NoiseGrid grid = MakeNoiseGrid(1, kClaimed, 2).value();
  const DiscreteGaussian noise = DiscreteGaussian::Create(grid.sigma_units).value();
  const Mechanism apart = [&](bool with, const RandomBytes& random) {
    auto values = Record(with);
    double sum = 0;
    for (std::vector<float>& bank : values) {
      const std::array<std::span<float>, 1> banks = {bank};
      const std::array<size_t, 1> layout = {1};
      sum += ReleaseOnGrid(banks, layout, grid, noise, random).value().ValueAt(0);
    }
    return sum;
  };
  EXPECT_GT(WorstViolation(apart), kStandardErrors);
}

TEST(DpFalsification, CatchesNoiseThatIsTheSameEveryTime) {
  const NoiseGrid grid = MakeNoiseGrid(1, kClaimed, 2).value();
  const Mechanism release = Release(grid);
  const Mechanism repeated = [&](bool with, const RandomBytes&) {
    Random same(3);
    return release(with, Seeded(same));
  };
  EXPECT_GT(WorstViolation(repeated), kStandardErrors);
}

}  // namespace
}  // namespace ruvd::dp
