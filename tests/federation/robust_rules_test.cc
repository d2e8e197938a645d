// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/robust_rules.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "federation/daf/distances.h"
#include "federation/daf/sorted_coordinates.h"
#include "federation/daf/vector_kernels.h"
#include "federation/limits.h"
#include "tests/federation/learner_fixture.h"

namespace ruvd::test {
namespace {

using Vectors = std::vector<std::vector<float>>;

std::vector<float> Combined(const federation::AggregationRule& rule, const Vectors& vectors,
                            std::optional<size_t> own = std::nullopt,
                            const std::vector<double>& weights = {}) {
  std::vector<std::span<const float>> spans(vectors.begin(), vectors.end());
  std::vector<float> out(vectors.front().size(), NAN);
  rule.Combine({.updates = spans, .weights = weights, .own = own}, out);
  return out;
}

std::vector<std::unique_ptr<federation::AggregationRule>> AllRules() {
  std::vector<std::unique_ptr<federation::AggregationRule>> rules;
  rules.push_back(std::make_unique<federation::MeanRule>());
  rules.push_back(std::make_unique<federation::MedianRule>());
  rules.push_back(std::make_unique<federation::TrimmedMean>());
  rules.push_back(std::make_unique<federation::MultiKrumRule>());
  rules.push_back(std::make_unique<federation::GeometricMedianRule>());
  rules.push_back(std::make_unique<federation::NearestNeighbourRule>());
  rules.push_back(std::make_unique<federation::FilteredMeanRule>());
  rules.push_back(std::make_unique<federation::SelfClipRule>());
  return rules;
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  return std::sqrt(federation::SquaredDistance(a, b));
}

Vectors RandomVectors(Random& random, size_t count, size_t length) {
  Vectors vectors(count, std::vector<float>(length));
  for (auto& vector : vectors) {
    for (float& v : vector) {
      v = static_cast<float>(random.Normal());
    }
  }
  return vectors;
}

// The expected values below come from an independent program in Python (exact fractions of eighths
// in, plain sums and sorts, 20,000 Weiszfeld iterations).
const Vectors& Golden() {
  static const Vectors vectors = {{-1.375F, -0.25F, 0.875F, -0.875F, 0.25F},
                                  {0.375F, -1.25F, 0, 1.25F, -0.375F},
                                  {-0.75F, 0.875F, -0.375F, 1.25F, 0},
                                  {1, 0.375F, -0.25F, -0.875F, 1.375F},
                                  {-0.125F, 0.125F, 0.375F, 0.625F, 0.875F},
                                  {-1.25F, 0.125F, -1.375F, 0, 1.375F},
                                  {8, -8, 8, -8, 8}};
  return vectors;
}

void ExpectNear(const std::vector<float>& actual, const std::vector<double>& expected,
                double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
  }
}

TEST(RobustRules, GoldenValues) {
  ExpectNear(Combined(federation::MedianRule(), Golden()), {-0.125, 0.125, 0, 0, 0.875}, 0);
  ExpectNear(Combined(federation::TrimmedMean(0.15), Golden()),
             {-0.15, -0.175, 0.125, 0.025, 0.775}, 1e-6);
  ExpectNear(Combined(federation::MultiKrumRule(), Golden()),
             {-0.875, 0.21875, -0.125, 0.25, 0.625}, 1e-6);
  ExpectNear(Combined(federation::NearestNeighbourRule(), Golden()),
             {-0.3541666667, 0, -0.125, 0.2291666667, 0.5833333333}, 1e-6);
  ExpectNear(Combined(federation::GeometricMedianRule(500), Golden()),
             {-0.1825465482, -0.0351411990, 0.1343436213, 0.2613195468, 0.7647241933}, 1e-4);
  ExpectNear(Combined(federation::SelfClipRule(), Golden(), 0),
             {-0.3292280878, -0.2005063147, 0.1998813358, -0.1219983520, 0.7134506502}, 1e-5);
}

TEST(RobustRules, MultiKrumSelectsByTheNearestOthers) {
  std::vector<std::span<const float>> spans(Golden().begin(), Golden().end());
  EXPECT_EQ(federation::MultiKrumRule().Select({.updates = spans}),
            (std::vector<size_t>{0, 2, 4, 5}));
}

RC_GTEST_PROP(RobustRules, DoNotDependOnTheOrderButByRounding, (uint64_t seed)) {
  Random random(seed);
  const size_t count = 3 + random.Below(10);
  const Vectors vectors = RandomVectors(random, count, 40);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  random.Shuffle(std::span<size_t>(order));
  Vectors shuffled;
  std::optional<size_t> own;
  for (size_t i = 0; i < count; ++i) {
    shuffled.push_back(vectors[order[i]]);
    if (order[i] == 0) {
      own = i;
    }
  }
  for (const auto& rule : AllRules()) {
    RC_ASSERT(Distance(Combined(*rule, vectors, 0), Combined(*rule, shuffled, own)) < 1e-4);
  }
}

RC_GTEST_PROP(RobustRules, MoveWithATranslation, (uint64_t seed)) {
  Random random(seed);
  const size_t count = 3 + random.Below(10);
  Vectors vectors = RandomVectors(random, count, 24);
  const Vectors shift = RandomVectors(random, 1, 24);
  Vectors moved = vectors;
  for (auto& vector : moved) {
    for (size_t i = 0; i < vector.size(); ++i) {
      vector[i] += shift[0][i];
    }
  }
  for (const auto& rule : AllRules()) {
    if (rule->name() == "self_clip" || rule->name() == "geometric_median" ||
        rule->name() == "filtered_mean" || count < 5) {
      continue;  // they use the vectors' norms or the angles between them
    }
    std::vector<float> expected = Combined(*rule, vectors);
    for (size_t i = 0; i < expected.size(); ++i) {
      expected[i] += shift[0][i];
    }
    RC_ASSERT(Distance(Combined(*rule, moved), expected) < 1e-4);
  }
}

TEST(RobustRules, EqualUpdatesGiveThemselves) {
  const std::vector<float> same = {0.5F, -2, 0, 1.25F};
  for (const size_t count : {1U, 2U, 3U, 4U, 5U, 6U, 9U}) {
    for (const auto& rule : AllRules()) {
      const auto result = Combined(*rule, Vectors(count, same), 0);
      std::vector<float> expected = same;
      if (rule->name() == "trimmed_mean" && count < 3) {  // clips to 1
        const double norm = std::sqrt(federation::SquaredNorm(same));
        std::ranges::for_each(expected, [norm](float& v) { v = static_cast<float>(v / norm); });
      }
      EXPECT_LT(Distance(result, expected), 1e-5) << rule->name() << count;
    }
  }
}

// Breakdown: f liars that know the honest updates send anything. A robust rule stays within a few
// spreads of the honest mean; the plain mean does not.
enum class Attack { kSignFlip, kFar, kHuge, kCopies, kInnerProduct };

Vectors Attacked(Random& random, Attack attack, size_t honest, size_t liars) {
  constexpr size_t kLength = 64;
  Vectors vectors = RandomVectors(random, honest, kLength);
  std::vector<float> mean(kLength);
  for (auto& vector : vectors) {
    for (size_t i = 0; i < kLength; ++i) {
      vector[i] = 0.5F + 0.3F * vector[i];
      mean[i] += vector[i] / static_cast<float>(honest);
    }
  }
  for (size_t liar = 0; liar < liars; ++liar) {
    std::vector<float> lie(kLength);
    for (size_t i = 0; i < kLength; ++i) {
      switch (attack) {
        case Attack::kSignFlip:
          lie[i] = -10 * mean[i];
          break;
        case Attack::kFar:
          lie[i] = static_cast<float>(100 * random.Normal());
          break;
        case Attack::kHuge:
          lie[i] = 1e30F;
          break;
        case Attack::kCopies:
          lie[i] = vectors[0][i];
          break;
        case Attack::kInnerProduct:
          lie[i] = -0.5F * mean[i];
          break;
      }
    }
    vectors.push_back(lie);
  }
  return vectors;
}

RC_GTEST_PROP(RobustRules, StayNearTheHonestUnderAttack, (uint64_t seed)) {
  Random random(seed);
  const size_t liars = 1 + random.Below(3);
  const size_t honest = 3 * liars + 3 + random.Below(4);
  for (const Attack attack :
       {Attack::kSignFlip, Attack::kFar, Attack::kHuge, Attack::kCopies, Attack::kInnerProduct}) {
    const Vectors vectors = Attacked(random, attack, honest, liars);
    const Vectors good(vectors.begin(), vectors.begin() + static_cast<std::ptrdiff_t>(honest));
    const std::vector<float> mean = Combined(federation::MeanRule(), good);
    double spread = 0;
    for (const auto& vector : good) {
      spread = std::max(spread, Distance(vector, mean));
    }
    for (const auto& rule : AllRules()) {
      const double error = Distance(Combined(*rule, vectors, 0), mean);
      if (rule->name() != "mean") {
        RC_ASSERT(error < 2 * spread);
      } else if (attack == Attack::kHuge || attack == Attack::kFar) {
        RC_ASSERT(error > 3 * spread);
      }
    }
  }
}

// Liars whose updates are fresh among honest ones that are stale: a share of the weight covers
// fewer than f of them.
RC_GTEST_PROP(RobustRules, FreshLiarsAmongStaleHonestOnesAreDropped, (uint64_t seed)) {
  Random random(seed);
  std::vector<std::unique_ptr<federation::AggregationRule>> rules;
  rules.push_back(std::make_unique<federation::MedianRule>());
  rules.push_back(std::make_unique<federation::TrimmedMean>(federation::kFaultyShare));
  rules.push_back(std::make_unique<federation::MultiKrumRule>());
  rules.push_back(std::make_unique<federation::NearestNeighbourRule>());
  rules.push_back(std::make_unique<federation::SelfClipRule>());
  for (const auto& [count, liars] : {std::pair<size_t, size_t>{5, 1}, {20, 5}}) {
    std::vector<double> weights(count, 0.5);
    std::fill(weights.end() - static_cast<std::ptrdiff_t>(liars), weights.end(), 1.0);
    for (const Attack attack : {Attack::kSignFlip, Attack::kFar, Attack::kHuge}) {
      const Vectors vectors = Attacked(random, attack, count - liars, liars);
      const Vectors good(vectors.begin(), vectors.end() - static_cast<std::ptrdiff_t>(liars));
      const std::vector<float> mean = Combined(federation::MeanRule(), good);
      double spread = 0;
      for (const auto& vector : good) {
        spread = std::max(spread, Distance(vector, mean));
      }
      for (const auto& rule : rules) {
        RC_ASSERT(Distance(Combined(*rule, vectors, 0, weights), mean) < 2 * spread);
      }
    }
  }
}

TEST(RobustRules, TrimmingDropsByNumberAndWeighsTheRest) {
  const Vectors vectors = {{1}, {2}, {4}, {-1e6F}, {3}};
  EXPECT_FLOAT_EQ(Combined(federation::TrimmedMean(), vectors, 0, {0.5, 0.5, 0.5, 1, 0.25})[0],
                  (0.5F * 1 + 0.5F * 2 + 0.25F * 3) / 1.25F);
  EXPECT_FLOAT_EQ(Combined(federation::TrimmedMean(), vectors, 0, {0, 0, 0.5, 1, 0})[0], 2);
}

TEST(RobustRules, TheWeightedMedianOfAnEvenNumberIsAMedian) {
  EXPECT_EQ(Combined(federation::MedianRule(), {{-1e6F}, {1}, {2}, {3}}, 0, {1, 0.5, 0.5, 0.5})[0],
            1);
  EXPECT_EQ(Combined(federation::MedianRule(), {{1}, {2}, {3}, {1e6F}}, 0, {0.5, 0.5, 0.5, 0.5})[0],
            2.5F);
  EXPECT_EQ(Combined(federation::MedianRule(), {{4}, {1e6F}, {2}, {3}, {1}, {5}}, 0,
                     {0.5, 1, 0.5, 0.5, 0.5, 0.5})[0],
            4);
}

TEST(RobustRules, MultiKrumSelectsAllOfFewerThanFive) {
  for (const size_t count : {1U, 2U, 3U, 4U}) {
    const Vectors vectors(count, {1.0F});
    const std::vector<std::span<const float>> spans(vectors.begin(), vectors.end());
    EXPECT_EQ(federation::MultiKrumRule().Select({.updates = spans}).size(), count);
  }
}

TEST(RobustRules, OnePeerOfTwoMovesTheResultByABoundedStep) {
  const Vectors vectors = {{3, 4}, {-3e6F, 1e6F}};
  EXPECT_LE(Distance(Combined(federation::SelfClipRule(), vectors, 0), vectors[0]),
            5.001);  // 2 |own| / 2
  EXPECT_LE(Distance(Combined(federation::DefaultRule(), vectors, 0), vectors[0]), 5.001);
}

TEST(RobustRules, WeightsCountAsCopiesDo) {
  Random random(7);
  const Vectors vectors = RandomVectors(random, 7, 33);
  std::vector<double> weights(7, 1.0);
  weights[2] = 3;
  Vectors copies = vectors;
  copies.push_back(vectors[2]);
  copies.push_back(vectors[2]);
  // The trimmed rules are left out: they drop by number.
  for (const auto& rule : AllRules()) {
    if (rule->name() == "mean" || rule->name() == "median" || rule->name() == "geometric_median") {
      EXPECT_LT(Distance(Combined(*rule, vectors, 0, weights), Combined(*rule, copies, 0)), 1e-3)
          << rule->name();
    }
  }
}

TEST(RobustRules, EqualWeightsChangeNothing) {
  Random random(8);
  const Vectors vectors = RandomVectors(random, 9, 33);
  for (const auto& rule : AllRules()) {
    EXPECT_LT(Distance(Combined(*rule, vectors, 0, std::vector<double>(9, 0.25)),
                       Combined(*rule, vectors, 0)),
              1e-5)
        << rule->name();
  }
}

TEST(RobustRules, WhoHasNoWeightHasNoSay) {
  Random random(9);
  Vectors vectors = RandomVectors(random, 9, 33);
  std::vector<double> weights(9, 1.0);
  weights[4] = 0;
  for (const auto& rule : AllRules()) {
    if (rule->name() == "multi_krum" || rule->name() == "nearest_neighbour_trimmed" ||
        rule->name() == "trimmed_mean" || rule->name() == "filtered_mean") {
      continue;  // whose distances still choose, or which drop by number
    }
    const auto before = Combined(*rule, vectors, 0, weights);
    Vectors other = vectors;
    std::ranges::fill(other[4], vectors[4][0] * 1.001F);
    if (rule->name() == "self_clip") {
      continue;  // the radius is of all distances
    }
    EXPECT_LT(Distance(Combined(*rule, other, 0, weights), before), 1e-3) << rule->name();
  }
}

TEST(RobustRules, HowManyAreDefendedAgainst) {
  EXPECT_EQ(federation::ToleratedFaults(2, 0.25), 0U);
  EXPECT_EQ(federation::ToleratedFaults(3, 0.25), 1U);
  EXPECT_EQ(federation::ToleratedFaults(6, 0.25), 1U);
  EXPECT_EQ(federation::ToleratedFaults(8, 0.25), 2U);
  EXPECT_EQ(federation::ToleratedFaults(20, 0.4), 8U);
  EXPECT_EQ(federation::ToleratedFaults(10, 0.3), 3U);
  EXPECT_EQ(federation::ToleratedFaults(5, 0.9), 2U);
}

RC_GTEST_PROP(SortingNetwork, SortsEveryColumn, (uint64_t seed)) {
  Random random(seed);
  const size_t count = 1 + random.Below(40);
  std::vector<federation::CoordinateRow> rows(count);
  for (auto& row : rows) {
    for (float& v : row) {
      v = static_cast<float>(random.Below(8));
    }
  }
  std::vector<federation::CoordinateRow> sorted = rows;
  federation::SortingNetwork(count).Sort(sorted);
  for (size_t column = 0; column < federation::kCoordinateBlock; ++column) {
    std::vector<float> expected;
    for (const auto& row : rows) {
      expected.push_back(row[column]);
    }
    std::ranges::sort(expected);
    for (size_t i = 0; i < count; ++i) {
      RC_ASSERT(sorted[i][column] == expected[i]);
    }
  }
}

// A fused product is not rounded before it is added, and only some processors fuse. 0.125 / 3 + 3 /
// 3 in float is 0x3f855555 if both products are rounded.
TEST(VectorKernels, RoundEachProductBeforeTheSum) {
  const float third = 1.0F / 3;
  WithEachInstructionSet([&](const char* name) {
    for (const size_t count : {1, 4, 40, 100}) {
      const std::vector<float> eighth(count, 0.125F);
      const std::vector<float> three(count, 3);
      std::vector<float> sum(count);
      federation::AddScaled(eighth.data(), third, sum.data(), count);
      federation::AddScaled(three.data(), third, sum.data(), count);
      EXPECT_EQ(sum, std::vector<float>(count, std::bit_cast<float>(0x3f855555U))) << name;
    }
  });
}

TEST(RuleByName, KnowsEveryRuleByItsOwnName) {
  for (const std::string_view name :
       {"mean", "median", "trimmed_mean", "multi_krum", "geometric_median",
        "nearest_neighbour_trimmed", "filtered_mean", "self_clip"}) {
    const auto rule = federation::RuleByName(name, federation::kFaultyShare);
    ASSERT_NE(rule, nullptr) << name;
    EXPECT_EQ(rule->name(), name);
  }
  EXPECT_EQ(federation::RuleByName("default", 0.25)->name(), federation::DefaultRule().name());
  EXPECT_EQ(federation::RuleByName("", 0.25), nullptr);
}

TEST(RuleByName, DefendsAgainstTheShareThatItIsGiven) {
  const std::vector<std::vector<float>> values = {{1}, {1}, {1}, {1}, {1}, {9}, {9}};
  const std::vector<std::span<const float>> updates(values.begin(), values.end());
  std::vector<float> few(1);
  std::vector<float> many(1);
  federation::RuleByName("trimmed_mean", 0.15)->Combine({.updates = updates}, few);
  federation::RuleByName("trimmed_mean", 0.3)->Combine({.updates = updates}, many);
  EXPECT_GT(few[0], 1);
  EXPECT_EQ(many[0], 1);
}

}  // namespace
}  // namespace ruvd::test
