// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/noised_centroids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

namespace ruvd::privacy::dp {
namespace {

constexpr size_t kDimension = 128;

RandomBytes Bytes(Random& random) {
  return [&random](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random.Next() >> 56);
    }
  };
}

std::vector<float> UnitVector(Random& random) {
  std::vector<float> values(kDimension);
  double squares = 0;
  for (float& value : values) {
    value = static_cast<float>(random.Normal());
    squares += static_cast<double>(value) * value;
  }
  for (float& value : values) {
    value /= static_cast<float>(std::sqrt(squares));
  }
  return values;
}

double Dot(std::span<const float> a, std::span<const float> b) {
  double dot = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * b[i];
  }
  return dot;
}

std::vector<std::span<const float>> Views(const std::vector<std::vector<float>>& vectors) {
  return {vectors.begin(), vectors.end()};
}

std::vector<NoisedCentroid> Release(const std::vector<std::vector<float>>& examples,
                                    const CentroidTerms& terms, uint64_t seed) {
  Random random(seed);
  const DiscreteGaussian noise = DiscreteGaussian::Create(terms.grid.sigma_units).value();
  const auto anchors = PublicAnchors(Sha256("a model"), terms.dimension);
  return CentroidsOf(
      RunNoisedPasses(Views(examples), anchors, terms, noise, Bytes(random)).value().back(), terms);
}

TEST(NoisedCentroids, PassesTogetherCostWhatTheTermsWereMadeFor) {
  const CentroidTerms terms = MakeCentroidTerms(1.4, kDimension, 50).value();
  EXPECT_GE(NoiseMultiplierOf(terms), 1.4);
  EXPECT_LT(NoiseMultiplierOf(terms), 1.42);
  EXPECT_NEAR(GaussianRho(NoiseMultiplierOf(terms)),
              limits::kCentroidPasses * GaussianRho(terms.grid.NoiseMultiplier()), 1e-12);
  EXPECT_EQ(std::ldexp(static_cast<double>(terms.grid.clip_units), terms.grid.exponent), 1);
}

TEST(NoisedCentroids, TermsRefuseFewerThanTenExamples) {
  EXPECT_TRUE(MakeCentroidTerms(1, kDimension, 10).ok());
  for (const double examples : {9.99, 0.0, -1.0, std::nan(""), 1e9}) {
    EXPECT_EQ(ReasonOf(MakeCentroidTerms(1, kDimension, examples).status()),
              reasons::kInvalidArgument)
        << examples;
  }
  EXPECT_FALSE(MakeCentroidTerms(1, 0, 10).ok());
  EXPECT_FALSE(MakeCentroidTerms(0, kDimension, 10).ok());
}

TEST(NoisedCentroids, MoreNoiseThanSignalIsRefusedWithTheFigureAndTheWaysOut) {
  EXPECT_TRUE(RequireCentroidSnr(MakeCentroidTerms(1, kDimension, 17).value()).ok());
  const CentroidTerms weak = MakeCentroidTerms(5, kDimension, 10).value();
  EXPECT_NEAR(SnrOf(weak), 10 / (5 * std::sqrt(2 * 128)), 1e-3);
  const absl::Status refused = RequireCentroidSnr(weak);
  EXPECT_EQ(ReasonOf(refused), reasons::kSignalTooWeak);
  const std::string text = MessageOf(refused);
  EXPECT_NE(text.find("0.12"), std::string::npos) << text;
  EXPECT_NE(text.find("a centroid of 81 examples"), std::string::npos) << text;
  EXPECT_NE(text.find("centroid_epsilon"), std::string::npos) << text;
}

TEST(NoisedCentroids, AnchorsFollowFromTheModelAlone) {
  const auto anchors = PublicAnchors(Sha256("a model"), kDimension);
  ASSERT_EQ(anchors.size(), limits::kCentroidCells);
  EXPECT_EQ(anchors, PublicAnchors(Sha256("a model"), kDimension));
  EXPECT_NE(anchors, PublicAnchors(Sha256("another"), kDimension));
  for (const std::vector<float>& anchor : anchors) {
    EXPECT_NEAR(Dot(anchor, anchor), 1, 1e-5);
  }
}

// One record changes one sum of a pass, by at most its norm, whatever the record is.
TEST(NoisedCentroids, OneExampleChangesOneSumByItsNormAtMost) {
  const CentroidTerms terms = MakeCentroidTerms(1, kDimension, 10).value();
  const DiscreteGaussian noise = DiscreteGaussian::Create(terms.grid.sigma_units).value();
  const auto anchors = PublicAnchors(Sha256("a model"), kDimension);
  Random random(5);
  std::vector<std::vector<float>> examples;
  for (int i = 0; i < 40; ++i) {
    examples.push_back(UnitVector(random));
  }
  std::vector<std::vector<float>> records = {UnitVector(random), UnitVector(random)};
  std::ranges::for_each(records[1], [](float& value) { value *= 1e30F; });
  records.emplace_back(kDimension, 0.0F);
  records.emplace_back(kDimension, std::numeric_limits<float>::quiet_NaN());
  records.emplace_back(kDimension, std::numeric_limits<float>::max());
  records.emplace_back(kDimension, std::numeric_limits<float>::denorm_min());
  for (const std::vector<float>& record : records) {
    std::vector<std::vector<float>> more = examples;
    more.push_back(record);
    Random same(9);
    Random again(9);
    // The noise is equal, so the first pass differs by the record alone.
    const NoisedSums with =
        RunNoisedPasses(Views(more), anchors, terms, noise, Bytes(same)).value().front();
    const NoisedSums without =
        RunNoisedPasses(Views(examples), anchors, terms, noise, Bytes(again)).value().front();
    int64_t squares = 0;
    size_t changed = 0;
    for (size_t cell = 0; cell < with.size(); ++cell) {
      changed += with[cell] != without[cell] ? 1 : 0;
      for (size_t i = 0; i < kDimension; ++i) {
        squares += (with[cell][i] - without[cell][i]) * (with[cell][i] - without[cell][i]);
      }
    }
    EXPECT_LE(changed, 1U);
    EXPECT_LE(squares, terms.grid.clip_units * terms.grid.clip_units);
  }
}

TEST(NoisedCentroids, FindsGroupsOfManyExamples) {
  const CentroidTerms terms = MakeCentroidTerms(1, kDimension, 20).value();
  Random random(3);
  std::vector<std::vector<float>> middles;
  std::vector<std::vector<float>> examples;
  for (int group = 0; group < 3; ++group) {
    middles.push_back(UnitVector(random));
    for (int i = 0; i < 200; ++i) {
      std::vector<float> example = UnitVector(random);
      for (size_t j = 0; j < kDimension; ++j) {
        example[j] = 0.8F * middles.back()[j] + 0.6F * example[j];
      }
      examples.push_back(std::move(example));
    }
  }
  const std::vector<NoisedCentroid> centroids = Release(examples, terms, 4);
  for (const std::vector<float>& middle : middles) {
    double best = 0;
    for (const NoisedCentroid& centroid : centroids) {
      EXPECT_NEAR(Dot(centroid.direction, centroid.direction), 1, 1e-5);
      best = std::max(best, Dot(centroid.direction, middle));
    }
    EXPECT_GT(best, 0.8);
  }
}

// Equal examples are the easiest to recognise. If there are only as many as the terms require,
// nothing of them leaves.
TEST(NoisedCentroids, NothingLeavesOfAsManyExamplesAsTheTermsAskForOrFewer) {
  Random random(8);
  const std::vector<float> canary = UnitVector(random);
  for (const double noise : {0.05, 0.5, 1.0}) {
    const CentroidTerms terms = MakeCentroidTerms(noise, kDimension, 20).value();
    for (uint64_t seed = 0; seed < 40; ++seed) {
      EXPECT_TRUE(Release({}, terms, seed).empty());
      EXPECT_TRUE(Release(std::vector(20, canary), terms, seed).empty()) << noise;
    }
    EXPECT_EQ(Release(std::vector(100, canary), terms, 7).size(), 1U) << noise;
  }
}

// What leaves of a group is far from each of its examples where these differ, and never equal to
// one of them.
TEST(NoisedCentroids, NoRawEmbeddingIsAmongWhatLeaves) {
  const CentroidTerms terms = MakeCentroidTerms(1, kDimension, 20).value();
  Random random(6);
  const std::vector<float> middle = UnitVector(random);
  std::vector<std::vector<float>> examples;
  for (int i = 0; i < 100; ++i) {
    examples.push_back(UnitVector(random));
    for (size_t j = 0; j < kDimension; ++j) {
      examples.back()[j] = 0.6F * middle[j] + 0.8F * examples.back()[j];
    }
  }
  const std::vector<NoisedCentroid> centroids = Release(examples, terms, 2);
  ASSERT_FALSE(centroids.empty());
  for (const NoisedCentroid& centroid : centroids) {
    for (const std::vector<float>& example : examples) {
      EXPECT_NE(centroid.direction, example);
      EXPECT_LT(Dot(centroid.direction, example) / std::sqrt(Dot(example, example)), 0.9);
    }
  }
}

TEST(NoisedCentroids, RefusesWhatDoesNotBelongTogether) {
  const CentroidTerms terms = MakeCentroidTerms(1, kDimension, 10).value();
  const DiscreteGaussian noise = DiscreteGaussian::Create(terms.grid.sigma_units).value();
  auto anchors = PublicAnchors(Sha256("a model"), kDimension);
  Random random(1);
  const std::vector<float> other(kDimension - 1, 1.0F);
  const std::vector<std::span<const float>> wrong = {other};
  EXPECT_FALSE(RunNoisedPasses(wrong, anchors, terms, noise, Bytes(random)).ok());
  const DiscreteGaussian less = DiscreteGaussian::Create(terms.grid.sigma_units - 1).value();
  EXPECT_FALSE(RunNoisedPasses({}, anchors, terms, less, Bytes(random)).ok());
  anchors.pop_back();
  EXPECT_FALSE(RunNoisedPasses({}, anchors, terms, noise, Bytes(random)).ok());
}

}  // namespace
}  // namespace ruvd::privacy::dp
