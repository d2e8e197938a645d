// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/strategy.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "federation/daf/robust_rules.h"

namespace ruvd::test {
namespace {

TEST(Strategy, ClustersByTotalVariation) {
  const federation::TimestepHistogram low =
      federation::HistogramOf({10, 10, 10, 0, 0, 0, 0, 0, 0, 0});
  const federation::TimestepHistogram near =
      federation::HistogramOf({10, 10, 12, 0, 0, 0, 0, 0, 0, 0});
  const federation::TimestepHistogram high =
      federation::HistogramOf({0, 0, 0, 0, 0, 0, 0, 10, 10, 10});
  const std::vector<federation::TimestepHistogram> schedules = {low, high, near, high, low};
  EXPECT_EQ(federation::ClusterSchedules(schedules, 0.25), (std::vector<size_t>{0, 1, 0, 1, 0}));
  EXPECT_EQ(federation::ClusterSchedules(schedules, 1), (std::vector<size_t>(5, 0)));
}

// A liar that invents its own schedule is alone in a cluster; it must not get the weight of a whole
// cluster.
TEST(Strategy, ALoneScheduleIsOneOfNNotOneOfTheClusters) {
  const federation::TimestepHistogram honest =
      federation::HistogramOf({1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  const federation::TimestepHistogram odd = federation::HistogramOf({1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const std::vector<std::vector<float>> values = {{1}, {1.1F}, {0.9F}, {1}, {1.05F}, {0.95F}, {-9}};
  const std::vector<federation::TimestepHistogram> schedules = {honest, honest, honest, honest,
                                                                honest, honest, odd};
  const std::vector<std::span<const float>> updates(values.begin(), values.end());
  std::vector<float> out(1);
  federation::CombineByStrategy({.strategy = federation::Strategy::kScheduleSimilarity},
                                federation::DefaultRule(), {.updates = updates, .own = 0},
                                schedules, out);
  EXPECT_NEAR(out[0], 1, 0.1);
}

TEST(Strategy, HybridWeighsThree) {
  const federation::StrategyOptions options{.strategy = federation::Strategy::kHybrid,
                                            .timestep_weight = 1,
                                            .quality_weight = 2,
                                            .schedule_weight = 1,
                                            .staleness_exponent = 0.5};
  const std::vector<federation::UpdateView> views = {
      {.coverage = 1, .staleness = 0, .improvement = 0.2, .similarity = 1},
      {.coverage = 0.5, .staleness = 0, .improvement = 0.1, .similarity = 0.5},
      {.coverage = 1, .staleness = 3, .improvement = -0.1, .similarity = 0},
      {.coverage = 0, .staleness = 0, .improvement = 0.2, .similarity = 1}};
  const std::vector<double> weights = federation::WeightsOf(options, views);
  EXPECT_DOUBLE_EQ(weights[0], 1);
  EXPECT_DOUBLE_EQ(weights[1], (0.5 + 2 * 0.5 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(weights[2], 0.25 / 2);
  EXPECT_EQ(weights[3], 0);  // has no values for the bank
  EXPECT_FALSE(
      federation::CheckStrategy({.timestep_weight = 0, .quality_weight = 0, .schedule_weight = 0})
          .ok());
  EXPECT_FALSE(federation::CheckStrategy({.cluster_distance = 2}).ok());
}

// Other exponents would need a power function, whose last bits depend on the machine.
TEST(Strategy, StalenessIsARootAQuotientOrNothing) {
  for (const double exponent : {0.0, 0.5, 1.0}) {
    EXPECT_TRUE(federation::CheckStrategy({.staleness_exponent = exponent}).ok());
    EXPECT_EQ(federation::StalenessFactor(exponent, 0), 1);
  }
  EXPECT_EQ(federation::StalenessFactor(0, 15), 1);
  EXPECT_EQ(federation::StalenessFactor(0.5, 15), 0.25);
  EXPECT_EQ(federation::StalenessFactor(1, 15), 0.0625);
  for (const double exponent : {-0.5, 0.25, 0.75, 2.0}) {
    EXPECT_FALSE(federation::CheckStrategy({.staleness_exponent = exponent}).ok()) << exponent;
  }
}

TEST(Strategy, SimilarityToAMeanCountsWeights) {
  const federation::TimestepHistogram low = federation::HistogramOf({1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const federation::TimestepHistogram high =
      federation::HistogramOf({0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  const std::vector<federation::TimestepHistogram> schedules = {low, high};
  const auto mean = federation::MeanSchedule(schedules, std::vector<double>{3, 1});
  EXPECT_DOUBLE_EQ(mean.front(), 0.75);
  EXPECT_DOUBLE_EQ(federation::ScheduleSimilarity(low, mean), 0.75);
  EXPECT_DOUBLE_EQ(federation::ScheduleSimilarity(high, mean), 0.25);
  const auto even = federation::MeanSchedule(schedules, std::vector<double>{0, 0});
  EXPECT_DOUBLE_EQ(federation::ScheduleSimilarity(high, even), 0.5);
}

}  // namespace
}  // namespace ruvd::test
