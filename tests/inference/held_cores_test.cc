// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the training of cores that Fisher information holds near the frozen model.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/train/core_trainer.h"
#include "inference/train/losses.h"
#include "tests/inference/core_trainer_fixture.h"

namespace ruvd::inference::train {
namespace {

using test::CoreExamples;
using test::CoreFrame;
using test::CoreValues;
using test::CoreWorkshop;
using test::kCoreRank;
using test::TinyTextModel;

std::unique_ptr<Objective> TestObjective() {
  return MakeObjective(*TinyTextModel(), CoreExamples(), {.batch = 4, .seed = 7}).value();
}

// Returns the frame of the tests with Fisher information of the frame's own rank, which is higher
// than the cores'.
FrameSet HeldFrame() {
  FrameSet frame = CoreFrame();
  Random random(5);
  for (auto& [target, module] : frame.modules) {
    module.fisher.resize(static_cast<size_t>(module.rank * module.rank));
    std::ranges::generate(module.fisher, [&] { return static_cast<float>(random.Uniform()); });
  }
  frame.id = ContentId(frame);
  return frame;
}

class HeldCoresTest : public testing::Test {
 protected:
  std::unique_ptr<CoreTrainer> TrainerOf(std::vector<float> boundaries = {}) {
    return CoreTrainer::Create({.model = TinyTextModel(),
                                .weights = shop_.weights.get(),
                                .frame = &frame_,
                                .runner = &SerialRunner(),
                                .pass = {}},
                               CoreShapeOf(frame_, kCoreRank, std::move(boundaries)).value())
        .value();
  }
  // Returns hold/2 sum F R^2 of one bank for all t.
  double Penalty(double hold, const std::vector<float>& cores) const {
    double sum = 0;
    size_t at = 0;
    for (const auto& [target, module] : frame_.modules) {
      for (int row = 0; row < kCoreRank; ++row) {
        for (int column = 0; column < kCoreRank; ++column, ++at) {
          const auto value = static_cast<double>(cores[at]);
          sum +=
              static_cast<double>(module.fisher[static_cast<size_t>(row * module.rank + column)]) *
              value * value;
        }
      }
    }
    return hold / 2 * sum;
  }
  // Returns what a step's gradient was, from the first step's mean of gradients, which weighs it
  // by 0.1 and knows no clipping here.
  std::vector<double> GradientOfStep(CoreTrainer& trainer, const CoreValues& from, double hold) {
    OptimizerState state;
    EXPECT_TRUE(
        trainer.Train(from, *TestObjective(), {.count = 1, .clip_norm = 1e9, .hold = hold}, &state)
            .ok());
    for (double& value : state.first) {
      value *= 10;
    }
    return state.first;
  }
  FrameSet frame_ = HeldFrame();
  CoreWorkshop shop_;
};

TEST_F(HeldCoresTest, TheGradientIsThatOfThePenalty) {
  const auto trainer = TrainerOf();
  CoreValues at = shop_.SomeValues();
  const std::vector<double> free = GradientOfStep(*trainer, at, 0);
  const std::vector<double> held = GradientOfStep(*trainer, at, 2);
  for (size_t i = 0; i < held.size(); i += 7) {
    const float middle = at[0][i];
    at[0][i] = middle + 0.01F;
    const double above = Penalty(2, at[0]);
    at[0][i] = middle - 0.01F;
    const double below = Penalty(2, at[0]);
    at[0][i] = middle;
    EXPECT_NEAR(held[i] - free[i], (above - below) / 0.02, 1e-4) << i;
  }
}

// The Fisher information of a bank is the mean over all t, and it acts in its share of them.
TEST_F(HeldCoresTest, BanksCountWithTheirSharesOfT) {
  const auto one = TrainerOf();
  const auto two = TrainerOf({0.25F});
  const CoreValues at = shop_.SomeValues();
  const CoreValues both = {at[0], at[0]};
  const auto pull = [&](CoreTrainer& trainer, const CoreValues& from) {
    std::vector<double> held = GradientOfStep(trainer, from, 2);
    const std::vector<double> free = GradientOfStep(trainer, from, 0);
    std::ranges::transform(held, free, held.begin(), std::minus<>());
    return held;
  };
  const std::vector<double> whole = pull(*one, at);
  const std::vector<double> parts = pull(*two, both);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(parts[i], 0.25 * whole[i], 1e-5);
    EXPECT_NEAR(parts[whole.size() + i], 0.75 * whole[i], 1e-5);
  }
}

TEST_F(HeldCoresTest, WithoutAHoldAFrameTrainsAsOneWithoutFisherInformation) {
  const CoreValues from = shop_.SomeValues();
  const CoreSteps steps{.learning_rate = 0.02, .count = 4, .prox = 0.5};
  const auto objective = TestObjective();
  EXPECT_EQ(TrainerOf()->Train(from, *objective, steps, nullptr)->values,
            shop_.trainer->Train(from, *objective, steps, nullptr)->values);
}

TEST_F(HeldCoresTest, AHoldKeepsTheCoresSmallWhereTheInformationIsLarge) {
  const auto trainer = TrainerOf();
  const auto penalty = [&](double hold) {
    const CoreSteps steps{.learning_rate = 0.02, .count = 20, .hold = hold};
    return Penalty(1, trainer->Train(shop_.Zeros(), *TestObjective(), steps, nullptr)->values[0]);
  };
  EXPECT_LT(penalty(3), 0.8 * penalty(0));
}

TEST_F(HeldCoresTest, AHoldNeedsFisherInformationAndCores) {
  const CoreSteps held{.count = 1, .hold = 1};
  EXPECT_EQ(ReasonOf(shop_.trainer->Train(shop_.Zeros(), *TestObjective(), held, nullptr).status()),
            reasons::kInvalidArgument);
  const auto trainer = TrainerOf();
  EXPECT_TRUE(trainer->Train(shop_.Zeros(), *TestObjective(), held, nullptr).ok());
  EXPECT_EQ(ReasonOf(trainer
                         ->TrainOverlay(shop_.Zeros(), *TestObjective(), held,
                                        {.rank = 2, .seed = 1, .labels = {}})
                         .status()),
            reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::inference::train
