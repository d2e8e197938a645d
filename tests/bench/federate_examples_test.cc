// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the noised gradients of the federation experiment on a tiny model.

#include "bench/experiments/federate_examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.h"
#include "privacy/dp/grid_release.h"
#include "tests/inference/core_trainer_fixture.h"

namespace ruvd::bench {
namespace {

using test::CoreExamples;
using test::CoreValues;
using test::CoreWorkshop;

class ExampleTrainingTest : public testing::Test {
 protected:
  ExampleTrainingTest() {
    plan_.sampling_rate = 1;
    plan_.clip = 0.5;
    plan_.expected_batch = 4;
    plan_.grid = privacy::dp::MakeNoiseGrid(plan_.clip, 1.0, shop_.shape().values()).value();
  }
  // Returns the move of the first step, one bank after the other.
  std::vector<float> Step(std::span<const inference::TrainingExample> examples, bool noise,
                          uint64_t seed = 1) {
    Random bytes(seed);
    const privacy::dp::RandomBytes random = [&](std::span<uint8_t> out) {
      std::ranges::generate(out, [&] { return static_cast<uint8_t>(bytes.Below(256)); });
    };
    ExampleTraining training =
        ExampleTraining::Create({.trainer = *shop_.trainer, .examples = examples, .random = random},
                                plan_, noise)
            .value();
    const std::vector<float> move = Flattened(training.Step(shop_.SomeValues()).value());
    drawn_ = std::accumulate(training.maskings().begin(), training.maskings().end(), uint64_t{0});
    return move;
  }

  CoreWorkshop shop_{test::kTwoBanks};
  ExamplePlan plan_;
  uint64_t drawn_ = 0;
};

double NormOfDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(static_cast<double>(a[i]) - b[i], 2);
  }
  return std::sqrt(squares);
}

TEST_F(ExampleTrainingTest, AStepIsTheNegativeMeanOfClippedGradients) {
  const std::vector<float> move = Step(CoreExamples(), false);
  EXPECT_EQ(drawn_, CoreExamples().size());
  // The draws are made again from the same bytes: a coin and a seed for each text.
  Random bytes(1);
  const auto next = [&] {
    uint64_t bits = 0;
    for (int byte = 0; byte < 8; ++byte) {
      bits |= bytes.Below(256) << (8 * byte);
    }
    return bits >> 11;
  };
  std::vector<double> expected(move.size());
  for (const inference::TrainingExample& text : CoreExamples()) {
    next();
    const inference::train::CoreTrainer::Draw draw{.text = &text, .seed = next()};
    std::vector<float> gradient(move.size());
    float* const place = gradient.data();
    double share = 0;
    ASSERT_TRUE(shop_.trainer
                    ->Gradients(shop_.SomeValues(), std::span(&draw, 1), std::span(&place, 1),
                                std::span(&share, 1))
                    .ok());
    EXPECT_GT(inference::train::ClipNorm(gradient, plan_.clip * 63 / 64), plan_.clip);
    for (size_t i = 0; i < move.size(); ++i) {
      expected[i] -= gradient[i] / plan_.expected_batch;
    }
  }
  const double grid = std::ldexp(1.0, plan_.grid.exponent);
  const std::vector<float> exact(expected.begin(), expected.end());
  for (size_t i = 0; i < move.size(); ++i) {
    EXPECT_NEAR(move[i], expected[i], grid) << i;
  }
  EXPECT_LT(NormOfDifference(move, exact),
            0.1 * NormOfDifference(exact, std::vector<float>(exact.size())));
}

// What the noise has to hide: one text moves the sum by no more than the clip norm.
TEST_F(ExampleTrainingTest, OneTextMovesTheSumByTheClipNormAtMost) {
  const std::span<const inference::TrainingExample> all = CoreExamples();
  const std::vector<float> with = Step(all, false);
  const std::vector<float> without = Step(all.first(all.size() - 1), false);
  const double difference = plan_.expected_batch * NormOfDifference(with, without);
  EXPECT_LE(difference, plan_.clip * (1 + 1e-6));
  EXPECT_GT(difference, 0.9 * plan_.clip);
}

TEST_F(ExampleTrainingTest, TextsAreDrawnWithTheSamplingRate) {
  const std::vector<inference::TrainingExample> many(200, CoreExamples()[0]);
  plan_.sampling_rate = 0.1;
  Step(many, false);
  EXPECT_GT(drawn_, 5U);
  EXPECT_LT(drawn_, 40U);
  plan_.sampling_rate = 0;
  const std::vector<float> nothing = Step(many, false);
  EXPECT_EQ(drawn_, 0U);
  EXPECT_EQ(nothing, std::vector<float>(nothing.size()));
}

TEST_F(ExampleTrainingTest, NoiseHasTheDeviationOfThePlan) {
  const std::vector<float> noise = Step({}, true);
  const double deviation =
      std::ldexp(static_cast<double>(plan_.grid.sigma_units), plan_.grid.exponent) /
      plan_.expected_batch;
  const double norm = NormOfDifference(noise, std::vector<float>(noise.size()));
  const double measured = norm / std::sqrt(static_cast<double>(noise.size()));
  EXPECT_NEAR(measured / deviation, 1, 0.2);  // 4.5 standard errors of 252 values
}

}  // namespace
}  // namespace ruvd::bench
