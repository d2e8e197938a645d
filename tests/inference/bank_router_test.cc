// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/bank_router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

constexpr size_t kEmbedding = 6;

std::vector<float> Direction(uint64_t seed) {
  Random random(seed);
  std::vector<float> values(kEmbedding);
  double norm = 0;
  for (float& value : values) {
    value = static_cast<float>(random.Normal());
    norm += static_cast<double>(value) * static_cast<double>(value);
  }
  for (float& value : values) {
    value /= static_cast<float>(std::sqrt(norm));
  }
  return values;
}

BankRouter RandomRouter(uint64_t seed) {
  BankRouter router(3, kEmbedding, 5);
  Random random(seed);
  for (double& value : router.parameters()) {
    value = random.Normal();
  }
  return router;
}

TEST(BankRouterTest, WeightsSumToOneAndDependOnBoth) {
  const BankRouter router = RandomRouter(1);
  std::vector<float> weights(3);
  std::vector<float> others(3);
  router.Route(0.4, Direction(1), weights);
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-6);
  router.Route(0.9, Direction(1), others);
  EXPECT_NE(weights, others);
  router.Route(0.4, Direction(2), others);
  EXPECT_NE(weights, others);
  BankRouter(3, kEmbedding, 5).Route(0.4, Direction(1), weights);
  EXPECT_EQ(weights, std::vector<float>(3, 1.0F / 3)) << "without keys all are equal";
  BankRouter::Start(3, kEmbedding, 5, 1).Route(0.4, {}, others);
  EXPECT_EQ(others, weights) << "training begins there, too";
}

TEST(BankRouterTest, GradientAgreesWithDifferences) {
  BankRouter router = RandomRouter(2);
  const std::vector<double> losses = {3.1, 2.2, 4.7};
  const std::vector<float> query = Direction(3);
  std::vector<double> gradient(router.parameters().size());
  const double loss = router.AddGradient(0.37, query, losses, gradient);
  std::vector<double> unused(gradient.size());
  const auto loss_at = [&] {
    unused.assign(unused.size(), 0);
    return router.AddGradient(0.37, query, losses, unused);
  };
  EXPECT_EQ(loss_at(), loss);
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < gradient.size(); ++i) {
    double& parameter = router.parameters()[i];
    const double kept = parameter;
    parameter = kept + kStep;
    const double above = loss_at();
    parameter = kept - kStep;
    const double below = loss_at();
    parameter = kept;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-8) << i;
  }
}

// Two kinds of queries that want opposite banks at low t, and the third bank above.
std::vector<RoutingSample> Lessons(uint64_t seed, size_t count) {
  Random random(seed);
  std::vector<RoutingSample> samples;
  for (size_t i = 0; i < count; ++i) {
    RoutingSample sample;
    sample.t = static_cast<float>(random.Uniform());
    const bool first = random.Bernoulli(0.5);
    sample.query = Direction(first ? 10 : 11);
    sample.losses = {3, 3, 3};
    sample.losses[sample.t > 0.5F ? 2 : (first ? 0 : 1)] = 2;
    samples.push_back(sample);
  }
  return samples;
}

TEST(BankRouterTest, TrainingLearnsWhichBankIsBest) {
  const BankRouter router = TrainRouter(Lessons(1, 200), {}).value();
  double expected = 0;
  const std::vector<RoutingSample> held_out = Lessons(2, 200);
  std::vector<double> unused(router.parameters().size());
  for (const RoutingSample& sample : held_out) {
    expected += router.AddGradient(sample.t, sample.query, sample.losses, unused);
  }
  // The optimum is 2, the best fixed bank has about 2.5, uniform weights 2.67.
  EXPECT_LT(expected / 200, 2.1);
  const BankRouter again = TrainRouter(Lessons(1, 200), {}).value();
  EXPECT_TRUE(std::equal(router.parameters().begin(), router.parameters().end(),
                         again.parameters().begin()));
  for (const double value : router.parameters()) {
    EXPECT_EQ(value, static_cast<double>(static_cast<float>(value)));
  }
}

TEST(BankRouterTest, RefusesWhatCannotBeLearned) {
  const auto reason = [](const std::vector<RoutingSample>& samples, const RouterTraining& how) {
    return ReasonOf(TrainRouter(samples, how).status());
  };
  std::vector<RoutingSample> samples = Lessons(1, 4);
  EXPECT_EQ(reason({}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(samples, {.hidden = 0}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(samples, {.epochs = 0}), reasons::kInvalidArgument);
  samples[2].losses.pop_back();
  EXPECT_EQ(reason(samples, {}), reasons::kInvalidArgument);
  samples = Lessons(1, 4);
  samples[1].query[0] = std::nanf("");
  EXPECT_EQ(reason(samples, {}), reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::inference
