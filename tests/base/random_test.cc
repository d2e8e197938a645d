// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/random.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

namespace ruvd {
namespace {

// Computed by an independent program (arbitrary-precision integers masked to 64 bits) from the
// published definitions of SplitMix64 and xoshiro256**.
TEST(Random, MatchesXoshiro256StarStarSeededBySplitMix64) {
  const auto first = [](uint64_t seed) {
    Random random(seed);
    return std::vector<uint64_t>{random.Next(), random.Next(), random.Next(), random.Next()};
  };
  EXPECT_EQ(first(0), (std::vector<uint64_t>{0x99ec5f36cb75f2b4, 0xbf6e1f784956452a,
                                             0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c}));
  EXPECT_EQ(first(1), (std::vector<uint64_t>{0xb3f2af6d0fc710c5, 0x853b559647364cea,
                                             0x92f89756082a4514, 0x642e1c7bc266a3a7}));
  EXPECT_EQ(first(std::numeric_limits<uint64_t>::max()),
            (std::vector<uint64_t>{0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e,
                                   0xbf658d7e065f3c2f}));
  Random random(42);
  uint64_t last = 0;
  for (int i = 0; i < 10'000; ++i) {
    last = random.Next();
  }
  EXPECT_EQ(last, 0xeed6344df08981a9ULL);
}

RC_GTEST_PROP(Random, BelowStaysBelow, (uint64_t seed, uint64_t n)) {
  RC_PRE(n > 0);
  Random random(seed);
  for (int i = 0; i < 20; ++i) {
    RC_ASSERT(random.Below(n) < n);
  }
}

// For n = 3·2^62 plain modulo would make the lowest third of the values twice as likely.
TEST(Random, BelowHasNoModuloBias) {
  constexpr uint64_t kN = 3ULL << 62;
  constexpr int kDraws = 30'000;
  Random random(7);
  int low = 0;
  for (int i = 0; i < kDraws; ++i) {
    low += random.Below(kN) < kN / 3 ? 1 : 0;
  }
  const double deviation = std::sqrt(kDraws * (1.0 / 3) * (2.0 / 3));
  EXPECT_NEAR(low, kDraws / 3, 5 * deviation);
}

TEST(Random, BelowIsUniform) {
  constexpr int kBins = 10;
  constexpr int kDraws = 100'000;
  Random random(3);
  std::vector<int> counts(kBins);
  for (int i = 0; i < kDraws; ++i) {
    ++counts[random.Below(kBins)];
  }
  double chi_square = 0;
  for (const int count : counts) {
    const double difference = count - kDraws / kBins;
    chi_square += difference * difference / (kDraws / kBins);
  }
  EXPECT_LT(chi_square, 33.7);  // 9 degrees of freedom, p = 1e-4
}

TEST(Random, UniformMoments) {
  Random random(11);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.Uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kDraws));
}

TEST(Random, NormalMomentsAndTails) {
  Random random(13);
  constexpr int kDraws = 200'000;
  double sum = 0;
  double squares = 0;
  double cubes = 0;
  double fourths = 0;
  int beyond_two = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.Normal();
    sum += x;
    squares += x * x;
    cubes += x * x * x;
    fourths += x * x * x * x;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  // Five standard errors: the k-th moment's variance is E[x^2k] - E[x^k]^2 = 1, 2, 15, 96.
  EXPECT_NEAR(sum / kDraws, 0, 5 * std::sqrt(1.0 / kDraws));
  EXPECT_NEAR(squares / kDraws, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(cubes / kDraws, 0, 5 * std::sqrt(15.0 / kDraws));
  EXPECT_NEAR(fourths / kDraws, 3, 5 * std::sqrt(96.0 / kDraws));
  EXPECT_NEAR(beyond_two, 0.0455003 * kDraws, 5 * std::sqrt(0.0455 * 0.9545 * kDraws));
}

TEST(Random, ChanceOfZeroAndOneAreCertain) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(random.Bernoulli(0));
    EXPECT_TRUE(random.Bernoulli(1));
  }
}

TEST(Random, ForksAreIndependentOfEachOther) {
  Random parent(5);
  Random a = parent.Fork();
  Random b = parent.Fork();
  std::set<uint64_t> seen;
  for (int i = 0; i < 100; ++i) {
    seen.insert({a.Next(), b.Next(), parent.Next()});
  }
  EXPECT_EQ(seen.size(), 300u);
  Random again(5);
  EXPECT_EQ(again.Fork().Next(), Random(5).Fork().Next());
}

RC_GTEST_PROP(Random, ShuffleIsAPermutation, (uint64_t seed, std::vector<int> items)) {
  std::vector<int> shuffled = items;
  Random(seed).Shuffle(std::span<int>(shuffled));
  std::ranges::sort(shuffled);
  std::ranges::sort(items);
  RC_ASSERT(shuffled == items);
}

TEST(Random, ShuffleReachesEveryOrderAlike) {
  std::vector<int> counts(6);
  Random random(17);
  constexpr int kDraws = 60'000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<int> items = {0, 1, 2};
    random.Shuffle(std::span<int>(items));
    ++counts[static_cast<size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0))];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, kDraws / 6, 5 * std::sqrt(kDraws * (1.0 / 6) * (5.0 / 6)));
  }
}

}  // namespace
}  // namespace ruvd
