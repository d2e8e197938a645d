// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/outliers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.h"
#include "federation/daf/distances.h"
#include "federation/daf/robust_rules.h"
#include "federation/daf/running_mean.h"

namespace ruvd::test {
namespace {

using federation::RunningMean;
using Vectors = std::vector<std::vector<float>>;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kLength = 1792;  // of a contribution of rank 8

std::vector<size_t> OutliersOf(const Vectors& now, const Vectors& past, size_t most = 1) {
  const std::vector<std::span<const float>> of_now(now.begin(), now.end());
  const std::vector<std::span<const float>> of_past(past.begin(), past.end());
  return federation::Outliers({.vectors = of_now}, {.vectors = of_past}, most);
}

std::vector<float> Noise(Random& random, float deviation) {
  std::vector<float> noise(kLength);
  for (float& value : noise) {
    value = deviation * static_cast<float>(random.Normal());
  }
  return noise;
}

// Contributions of six nodes with a common signal of `signal`, a signal of each and noise, all
// times sqrt(kLength); node 5 may lie.
class Rounds {
 public:
  Rounds(uint64_t seed, float signal, float own) : random_(seed), common_(Noise(random_, signal)) {
    for (size_t node = 0; node < 6; ++node) {
      own_.push_back(Noise(random_, own));
    }
    means_.resize(6);
  }

  template <typename Lie>
  std::vector<size_t> Next(const Lie& lie) {
    now_.clear();
    for (size_t node = 0; node < 6; ++node) {
      now_.push_back(Noise(random_, 1));
      for (size_t i = 0; i < kLength; ++i) {
        now_[node][i] += common_[i] + own_[node][i];
      }
    }
    std::vector<float> mean(kLength);
    for (size_t node = 0; node < 5; ++node) {
      for (size_t i = 0; i < kLength; ++i) {
        mean[i] += now_[node][i] / 5;
      }
    }
    lie(mean, now_[5]);
    Vectors past;
    ++round_;
    for (size_t node = 0; node < 6; ++node) {
      means_[node].Add(round_, now_[node]);
    }
    const double heaviest = std::ranges::max_element(means_, {}, &RunningMean::weight)->weight;
    for (const RunningMean& known : means_) {
      past.push_back(known.IsKnownBeside(heaviest) ? known.Mean() : std::vector<float>());
    }
    return OutliersOf(now_, past);
  }

  void Forget(size_t node) { means_[node] = RunningMean(); }

 private:
  Random random_;
  std::vector<float> common_;
  Vectors own_;
  Vectors now_;
  std::vector<RunningMean> means_;
  uint64_t round_ = 0;
};

// Review: the mean of one round was compared with those of many, which have less noise.
TEST(Outliers, ANewcomerDoesNotStandApart) {
  for (const float own : {0.0F, 0.3F, 1.0F}) {
    Rounds rounds(7, 0.5F, own);
    for (int round = 0; round < 40; ++round) {
      if (round == 20) {
        rounds.Forget(2);
      }
      EXPECT_THAT(rounds.Next([](const auto&, auto&) {}), IsEmpty()) << own << " " << round;
    }
  }
}

TEST(Outliers, NobodyStandsApartWithoutALie) {
  for (const float own : {0.0F, 0.3F, 1.0F}) {
    Rounds rounds(1, 0.5F, own);
    for (int round = 0; round < 20; ++round) {
      EXPECT_THAT(rounds.Next([](const auto&, auto&) {}), IsEmpty()) << own << " " << round;
    }
  }
}

TEST(Outliers, ALieAgainstTheMeanStandsApartAtOnce) {
  for (const float factor : {-3.0F, -0.5F, -10.0F}) {
    Rounds rounds(2, 0.5F, 0.3F);
    for (int round = 0; round < 20; ++round) {
      EXPECT_THAT(rounds.Next([&](const auto& mean, auto& lie) {
        std::ranges::transform(mean, lie.begin(), [&](float v) { return factor * v; });
      }),
                  ElementsAre(5U))
          << factor << " " << round;
    }
  }
}

// Baruch et al. 2019, "A little is enough": the lie is as far from the mean as honest noise, but
// always on the same side.
TEST(Outliers, ALieThatHidesInTheNoiseIsFoundByItsPast) {
  Rounds rounds(3, 0.5F, 0.3F);
  std::vector<bool> found;
  for (int round = 0; round < 12; ++round) {
    const std::vector<size_t> outliers = rounds.Next([&](const auto& mean, auto& lie) {
      std::ranges::transform(mean, lie.begin(), [](float v) { return v - 1.1F; });
    });
    found.push_back(outliers == std::vector<size_t>{5});
  }
  EXPECT_FALSE(found[0]) << "by a single round it cannot be told apart";
  EXPECT_TRUE(std::all_of(found.begin() + 5, found.end(), [](bool b) { return b; }));
}

// Five vectors of noise and one of `factor` times as much; the noise is told or not.
std::vector<size_t> OutliersWithNoise(float factor, bool told, bool of_past) {
  Random random(8);
  Vectors vectors;
  std::vector<double> noise;
  for (size_t i = 0; i < 6; ++i) {
    const float deviation = i == 3 ? factor : 1.0F;
    vectors.push_back(Noise(random, deviation));
    noise.push_back(told ? double{deviation} * deviation * kLength : 1);
  }
  const Vectors equal(6, Noise(random, 1.0F));
  const Vectors& now = of_past ? equal : vectors;
  const Vectors& past = of_past ? vectors : equal;
  const std::vector<std::span<const float>> of_now(now.begin(), now.end());
  const std::vector<std::span<const float>> past_spans(past.begin(), past.end());
  const std::vector<double> zeros(6);
  return federation::Outliers({.vectors = of_now, .noise = of_past ? zeros : noise},
                              {.vectors = past_spans, .noise = of_past ? noise : zeros}, 1);
}

// Review: noise that a vector has by right counted as distance.
TEST(Outliers, NoiseThatIsExpectedIsNoDistance) {
  for (const bool of_past : {false, true}) {
    for (const float factor : {1.7F, 2.5F, 8.0F}) {
      EXPECT_THAT(OutliersWithNoise(factor, false, of_past), ElementsAre(3U)) << factor;
      EXPECT_THAT(OutliersWithNoise(factor, true, of_past), IsEmpty()) << factor;
    }
  }
}

TEST(Outliers, AreAtMostAsManyAsAsked) {
  Random random(4);
  Vectors vectors(9);
  for (size_t i = 0; i < vectors.size(); ++i) {
    vectors[i] = Noise(random, i < 3 ? static_cast<float>(10 + i) : 1.0F);
  }
  EXPECT_THAT(OutliersOf(vectors, vectors, 0), IsEmpty());
  EXPECT_THAT(OutliersOf(vectors, vectors, 2), ElementsAre(2U, 1U)) << "the worst first";
  EXPECT_THAT(OutliersOf(vectors, vectors, 4), ElementsAre(2U, 1U, 0U));
}

TEST(Outliers, CopiesAndZerosAreNoReasonToFail) {
  const Vectors equal(6, std::vector<float>(8, 1));
  EXPECT_THAT(OutliersOf(equal, equal), IsEmpty());
  const Vectors zeros(6, std::vector<float>(8));
  EXPECT_THAT(OutliersOf(zeros, zeros), IsEmpty());
  Vectors one = zeros;
  one[2][3] = 1e9F;
  EXPECT_THAT(OutliersOf(one, one), ElementsAre(2U));
}

RC_GTEST_PROP(Outliers, DoNotDependOnTheOrder, (uint64_t seed)) {
  Random random(seed);
  const size_t count = 5 + random.Below(8);
  Vectors vectors;
  for (size_t i = 0; i < count; ++i) {
    vectors.push_back(Noise(random, 0.5F + static_cast<float>(random.Below(4))));
  }
  Vectors reversed(vectors.rbegin(), vectors.rend());
  std::vector<size_t> mirrored = OutliersOf(reversed, reversed, 3);
  for (size_t& i : mirrored) {
    i = count - 1 - i;
  }
  RC_ASSERT(mirrored == OutliersOf(vectors, vectors, 3));
}

TEST(FilteredMean, IsTheMeanOfThoseWhoDoNotStandApart) {
  Random random(5);
  Vectors vectors;
  for (size_t i = 0; i < 6; ++i) {
    vectors.push_back(Noise(random, i == 4 ? 3.0F : 1.0F));
  }
  std::vector<std::span<const float>> updates(vectors.begin(), vectors.end());
  const std::vector<double> weights = {1, 2, 1, 1, 1, 0};
  const federation::FilteredMeanRule rule;
  EXPECT_THAT(rule.LeftOut({.updates = updates, .weights = weights}), ElementsAre(4U));
  std::vector<float> filtered(kLength);
  rule.Combine({.updates = updates, .weights = weights}, filtered);
  updates.erase(updates.begin() + 4);
  std::vector<float> mean(kLength);
  const std::vector<double> others = {1, 2, 1, 1, 0};
  federation::MeanRule().Combine({.updates = updates, .weights = others}, mean);
  EXPECT_EQ(filtered, mean);
}

TEST(RunningMean, WeighsEachVectorNineTenthsOfTheNext) {
  RunningMean mean;
  mean.Add(1, std::vector<float>{1, 0});
  EXPECT_THAT(mean.Mean(), ElementsAre(1.0F, 0.0F));
  mean.Add(2, std::vector<float>{0, 1});
  EXPECT_NEAR(mean.Mean()[0], 0.09 / 0.19, 1e-6);
  EXPECT_NEAR(mean.Mean()[1], 0.1 / 0.19, 1e-6);
  for (uint64_t round = 3; round <= 5; ++round) {
    EXPECT_FALSE(mean.IsKnownBeside(mean.weight));
    mean.Add(round, std::vector<float>{0, 1});
  }
  EXPECT_TRUE(mean.IsKnownBeside(mean.weight));
  EXPECT_FALSE(mean.IsKnownBeside(1));
  EXPECT_EQ(mean.round, 5U);
}

TEST(RunningMean, TellsHowMuchNoiseIsLeft) {
  RunningMean mean;
  mean.Add(1, std::vector<float>{1});
  EXPECT_NEAR(mean.NoiseShare(), 1, 1e-12);
  mean.Add(2, std::vector<float>{0});
  EXPECT_NEAR(mean.NoiseShare(), (0.1 * 0.1 + 0.09 * 0.09) / (0.19 * 0.19), 1e-9);
  for (uint64_t round = 3; round < 200; ++round) {
    mean.Add(round, std::vector<float>{0});
  }
  EXPECT_NEAR(mean.NoiseShare(), 1 / 19.0, 1e-6);
}

TEST(Folded, KeepsShortVectorsAndTheProductsOfLongOnes) {
  Random random(6);
  const std::vector<float> common = Noise(random, 1);
  EXPECT_EQ(federation::Folded(common, kLength), common);
  std::vector<float> a;
  std::vector<float> b;
  for (int part = 0; part < 14; ++part) {
    const std::vector<float> more = Noise(random, 1);
    const std::vector<float> noise = Noise(random, 1);
    a.insert(a.end(), more.begin(), more.end());
    for (size_t i = 0; i < kLength; ++i) {
      b.push_back(more[i] + noise[i]);
    }
  }
  const std::vector<float> fa = federation::Folded(a, 4096);
  const std::vector<float> fb = federation::Folded(b, 4096);
  EXPECT_EQ(fa.size(), 4096U);
  const double cosine =
      federation::Dot(a, b) / std::sqrt(federation::SquaredNorm(a) * federation::SquaredNorm(b));
  const double folded = federation::Dot(fa, fb) /
                        std::sqrt(federation::SquaredNorm(fa) * federation::SquaredNorm(fb));
  EXPECT_NEAR(folded, cosine, 0.05);
  // An independent program (Python) computed these signs.
  const std::vector<float> ones(16, 1);
  EXPECT_THAT(federation::Folded(ones, 1), ElementsAre(-4.0F));
}

}  // namespace
}  // namespace ruvd::test
