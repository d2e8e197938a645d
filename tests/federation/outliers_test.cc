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

// Vectors and the noise that they are told to have.
struct Noisy {
  Vectors vectors;
  std::vector<double> noise;

  std::vector<size_t> Outliers(bool of_past, size_t most = 1) const {
    const std::vector<std::span<const float>> spans(vectors.begin(), vectors.end());
    const Vectors equal(vectors.size(), vectors.front());
    const std::vector<std::span<const float>> others(equal.begin(), equal.end());
    const std::vector<double> zeros(vectors.size());
    return federation::Outliers(
        {.vectors = of_past ? others : spans, .noise = of_past ? zeros : noise},
        {.vectors = of_past ? spans : others, .noise = of_past ? noise : zeros}, most);
  }
};

// Six vectors of noise, of which the fourth has `factor` times as much; it is told or not.
Noisy OneWithMoreNoise(Random& random, float factor, bool told) {
  Noisy noisy;
  for (size_t i = 0; i < 6; ++i) {
    const float deviation = i == 3 ? factor : 1.0F;
    noisy.vectors.push_back(Noise(random, deviation));
    noisy.noise.push_back(told ? double{deviation} * deviation * kLength : 1);
  }
  return noisy;
}

// Review: noise that a vector has by right counted as distance.
TEST(Outliers, NoiseThatIsExpectedIsNoDistance) {
  Random random(8);
  for (const bool of_past : {false, true}) {
    for (const float factor : {2.0F, 3.0F, 8.0F}) {
      for (int draw = 0; draw < 30; ++draw) {
        const Noisy blamed = OneWithMoreNoise(random, factor, false);
        EXPECT_THAT(blamed.Outliers(of_past), ElementsAre(3U)) << factor;
        const Noisy told = OneWithMoreNoise(random, factor, true);
        EXPECT_THAT(told.Outliers(of_past), IsEmpty()) << factor << " " << draw;
      }
    }
  }
}

// Review: the noise of one vector was in the distances of all others, so that a lie among them was
// not found any more.
TEST(Outliers, AnHonestNoisyVectorHidesNoLie) {
  Random random(9);
  for (int draw = 0; draw < 30; ++draw) {
    Noisy noisy = OneWithMoreNoise(random, 4, true);
    const std::vector<float> signal = Noise(random, 0.5F);
    for (size_t i = 0; i < 6; ++i) {
      for (size_t at = 0; at < kLength; ++at) {
        // The lie is orthogonal to the others, and twice as far away as their noise is.
        noisy.vectors[i][at] += signal[at];
        noisy.vectors[i][at] += i == 5 ? (at % 2 == 0 ? 1.8F : -1.8F) : 0.0F;
      }
    }
    EXPECT_THAT(noisy.Outliers(false), ElementsAre(5U)) << draw;
    EXPECT_THAT(noisy.Outliers(true), ElementsAre(5U)) << draw;
  }
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[(values.size() - 1) / 2];
}

// How far each vector stands apart, from the vectors themselves, as outliers.h says it.
std::vector<double> PlainlyApart(const Noisy& noisy, std::span<const size_t> kept, double far) {
  const auto n = static_cast<double>(kept.size());
  const size_t length = noisy.vectors.front().size();
  std::vector<double> noise;
  for (const size_t i : kept) {
    noise.push_back(noisy.noise[i]);
  }
  const double median = Median(noise);
  double whole = 0;
  for (const double e : noise) {
    whole += std::max(0.0, e - median);
  }
  const double least = std::max(0.01, std::min(1.0, 100.0 / static_cast<double>(length)));
  std::vector<double> distances;
  std::vector<double> cosines;
  for (size_t k = 0; k < kept.size(); ++k) {
    const std::vector<float>& own = noisy.vectors[kept[k]];
    double square = 0;
    double product = 0;
    double length_own = 0;
    double length_others = 0;
    for (size_t at = 0; at < length; ++at) {
      double sum = 0;
      for (const size_t i : kept) {
        sum += noisy.vectors[i][at];
      }
      square += (own[at] - sum / n) * (own[at] - sum / n);
      const double others = sum - own[at];
      product += own[at] * others;
      length_own += double{own[at]} * own[at];
      length_others += others * others;
    }
    const double e = std::max(0.0, noise[k] - median);
    const double most = e > 0 ? e + 3 * std::sqrt(2 / static_cast<double>(length)) * noise[k] : 0;
    distances.push_back(std::sqrt(std::max(0.0, square - (1 - 2 / n) * most - whole / (n * n))));
    const double quiet_own = std::max(length_own - e, least * length_own);
    const double quiet_others = std::max(length_others - (whole - e), least * length_others);
    cosines.push_back(product / std::sqrt(quiet_own * quiet_others));
  }
  std::vector<double> quiet_distances;
  std::vector<double> quiet_cosines;
  for (size_t k = 0; k < kept.size(); ++k) {
    if (noise[k] <= median) {
      quiet_distances.push_back(distances[k]);
      quiet_cosines.push_back(cosines[k]);
    }
  }
  std::vector<double> apart;
  for (size_t k = 0; k < kept.size(); ++k) {
    apart.push_back(std::max(distances[k] / Median(quiet_distances) / far,
                             (Median(quiet_cosines) - cosines[k]) / 0.5));
  }
  return apart;
}

RC_GTEST_PROP(Outliers, AreThoseOfThePlainFormulas, (uint64_t seed)) {
  Random random(seed);
  Noisy noisy;
  const size_t count = 5 + random.Below(6);
  const size_t length = 200 + random.Below(200);
  const std::vector<float> signal = Noise(random, 0.5F);
  for (size_t i = 0; i < count; ++i) {
    const double deviation = 1.0 + static_cast<double>(random.Below(3));
    std::vector<float> vector = Noise(random, static_cast<float>(deviation));
    const float own = random.Below(4) == 0 ? -1.0F : 1.0F;
    for (size_t at = 0; at < length; ++at) {
      vector[at] += own * signal[at];
    }
    vector.resize(length);
    noisy.vectors.push_back(std::move(vector));
    noisy.noise.push_back(deviation * deviation * static_cast<double>(length));
  }
  std::vector<size_t> kept(count);
  std::iota(kept.begin(), kept.end(), 0);
  std::vector<size_t> expected;
  while (expected.size() < 2) {
    const std::vector<double> apart = PlainlyApart(noisy, kept, 1.4);
    const auto worst = std::ranges::max_element(apart);
    if (std::abs(*worst - 1) < 1e-6) {
      return;  // rounding decides
    }
    if (*worst < 1) {
      break;
    }
    const auto place = kept.begin() + (worst - apart.begin());
    expected.push_back(*place);
    kept.erase(place);
  }
  RC_ASSERT(noisy.Outliers(false, 2) == expected);
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
