// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tries to refute the privacy that a release claims: it runs many times over two adjacent data
// sets, and for every half line of outputs the share that falls into it must obey p <= e^epsilon p'
// + delta, where delta is the exact one of the claimed noise. The test must also catch a release
// that has too little noise, or that clips its banks one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "privacy/dp/analytic_gaussian.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/dp/grid_release.h"
#include "privacy/release/unit_release.h"
#include "tests/privacy/release_fixture.h"

namespace ruvd::privacy::dp {
namespace {

constexpr size_t kRuns = 20'000;
// Runs of the whole path, which makes its table of noise each time: enough to detect half the
// noise.
constexpr size_t kPathRuns = 500;
constexpr double kClaimed = 1;  // noise multiplier
// A false alarm needs one of some hundred half lines to be this many standard errors off.
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

std::vector<double> SortedOutputs(const Mechanism& mechanism, bool with, uint64_t seed,
                                  size_t runs) {
  Random random(seed);
  const RandomBytes bytes = Seeded(random);
  std::vector<double> outputs(runs);
  for (double& output : outputs) {
    output = mechanism(with, bytes);
  }
  std::ranges::sort(outputs);
  return outputs;
}

double ShareAbove(const std::vector<double>& sorted, double threshold) {
  return static_cast<double>(sorted.end() - std::ranges::lower_bound(sorted, threshold)) /
         static_cast<double>(sorted.size());
}

// Returns by how many standard errors the worst half line breaks the claim; negative where no half
// line does.
double WorstViolation(const Mechanism& mechanism, size_t runs = kRuns) {
  const std::vector<double> with = SortedOutputs(mechanism, true, 11, runs);
  const std::vector<double> without = SortedOutputs(mechanism, false, 22, runs);
  const auto samples = static_cast<double>(runs);
  double worst = -1e9;
  for (const double epsilon : {0.0, 0.5, 1.0, 2.0}) {
    const double delta = GaussianDelta(kClaimed, epsilon).value();
    for (size_t i = runs / 40; i < runs; i += runs / 40) {
      const double p = ShareAbove(with, with[i]);
      const double q = ShareAbove(without, with[i]);
      const double factor = std::exp(epsilon);
      const double error =
          std::sqrt((p * (1 - p) + factor * factor * q * (1 - q)) / samples) + 1 / samples;
      worst = std::max(worst, (p - factor * q - delta) / error);
    }
  }
  return worst;
}

// Returns what the record adds: more than the clip norm of 1, spread over two values.
std::vector<float> Record(bool with) {
  return with ? std::vector<float>{5, 5} : std::vector<float>{0, 0};
}

// Returns the sum of the record alone, clipped to a norm of 1.
UnitSum SumOf(std::vector<float> gradient, const NoiseGrid& grid) {
  UnitSum sum = UnitSum::Create(grid, /*clip_norm=*/1, gradient.size()).value();
  RUVD_CHECK(sum.Add(gradient).ok());
  return sum;
}

// Returns the sum of all values, as a receiver reads them.
double Total(const std::vector<int32_t>& units, int exponent) {
  double total = 0;
  for (const int32_t unit : units) {
    total += std::ldexp(unit, exponent);
  }
  return total;
}

// Runs the real mechanism, along the direction of the record.
Mechanism Release(const NoiseGrid& grid) {
  const DiscreteGaussian noise = DiscreteGaussian::Create(grid.sigma_units).value();
  return [grid, noise](bool with, const RandomBytes& random) {
    return Total(SumOf(Record(with), grid).Noised(noise, random), grid.exponent);
  };
}

TEST(DpFalsification, TheReleaseKeepsItsClaim) {
  EXPECT_LT(WorstViolation(Release(MakeNoiseGrid(1, kClaimed, 2).value())), kStandardErrors);
}

// Returns what a receiver reads of a release over the whole path from a consented sum on, without
// sampling. The world's ledger accepts what a run costs.
Mechanism WholePath(const NoiseGrid& grid) {
  return [grid](bool with, const RandomBytes& random) {
    ReleaseWorld world;
    ReleaseGuards guards = world.Guards();
    guards.random = random;
    const PreparedUnits prepared = PrepareUnits({.scope = "support", .grid = grid}, guards,
                                                SumOf(Record(with), grid), world.contributors)
                                       .value();
    return Total(prepared.units, grid.exponent);
  };
}

TEST(DpFalsification, TheWholePathKeepsItsClaim) {
  EXPECT_LT(WorstViolation(WholePath(MakeNoiseGrid(1, kClaimed, 2).value()), kPathRuns),
            kStandardErrors);
}

TEST(DpFalsification, CatchesAPathThatNoisesLessThanItClaims) {
  EXPECT_GT(WorstViolation(WholePath(MakeNoiseGrid(1, 0.5 * kClaimed, 2).value()), kPathRuns),
            kStandardErrors);
}

// A sum of four members, one of whom knows its own share of the noise: the shares of the others
// must be enough.
TEST(DpFalsification, TheSharesOfTheHonestKeepTheClaimOfTheSum) {
  const NoiseGrid grid = MakeNoiseGrid(1, kClaimed, 2).value();
  const auto sum = [&grid](uint32_t colluders) -> Mechanism {
    const NoiseShares shares = SplitNoise(grid, 4, colluders, 2).value();
    const NoiseGrid share = NoiseShareGrid(grid, shares);
    const DiscreteGaussian noise = DiscreteGaussian::Create(share.sigma_units).value();
    return [share, noise](bool with, const RandomBytes& random) {
      double total = 0;
      for (const bool mine : {true, false, false}) {  // the fourth subtracted its own
        total += Total(SumOf(Record(mine && with), share).Noised(noise, random), share.exponent);
      }
      return total;
    };
  };
  EXPECT_LT(WorstViolation(sum(1)), kStandardErrors);
  EXPECT_GT(WorstViolation(sum(0)), kStandardErrors);  // shares that count on the colluder
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
    double total = 0;
    for (const float value : Record(with)) {
      total += Total(SumOf({value}, grid).Noised(noise, random), grid.exponent);
    }
    return total;
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
}  // namespace ruvd::privacy::dp
