// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the training of cores, and of overlays above them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/evaluate/nelbo.h"
#include "inference/train/model_weights.h"
#include "inference/train/run.h"
#include "tests/inference/core_trainer_fixture.h"

namespace ruvd::inference::train {
namespace {

using test::CoreExamples;
using test::CoreFrame;
using test::CoresByHand;
using test::CoreValues;
using test::CoreWorkshop;
using test::kTwoBanks;
using test::TinyTextModel;

std::unique_ptr<Objective> TestObjective(const ObjectiveOptions& options = {.batch = 4,
                                                                            .seed = 7}) {
  return MakeObjective(*TinyTextModel(), CoreExamples(), options).value();
}

double Distance(const CoreValues& a, const CoreValues& b) {
  double squares = 0;
  for (size_t bank = 0; bank < a.size(); ++bank) {
    for (size_t i = 0; i < a[bank].size(); ++i) {
      squares += std::pow(static_cast<double>(a[bank][i]) - b[bank][i], 2);
    }
  }
  return std::sqrt(squares);
}

// The small clip norm is near the epsilon of AdamW, which otherwise hides the scale of a gradient.
TEST(CoreTrainerTest, TakesTheStepsOfATrainingRun) {
  const std::vector<std::vector<float>> schedules = {{}, kTwoBanks};
  for (const auto& [boundaries, clip] : {std::pair(schedules[0], 0.5), std::pair(schedules[1], 0.5),
                                         std::pair(schedules[1], 1e-7)}) {
    CoreWorkshop shop(boundaries);
    const CoreValues from = shop.SomeValues();
    const auto objective = TestObjective();
    const CoreSteps steps{
        .learning_rate = 0.02, .count = 8, .schedule_steps = 8, .clip_norm = clip};
    const auto trained = shop.trainer->Train(from, *objective, steps, nullptr).value();
    CoresByHand by_hand(shop.shape(), from);
    TrainingRun run({.weights = shop.weights.get(),
                     .changes = &by_hand.changes,
                     .objective = objective.get(),
                     .held_out = {},
                     .runner = &SerialRunner()},
                    {.steps = 8, .learning_rate = 0.02, .clip_norm = clip});
    ASSERT_TRUE(run.Advance().ok());
    EXPECT_NEAR(trained.loss, run.loss(), 1e-6);
    EXPECT_GT(Distance(trained.values, from), 0.1);
    for (const auto& entry : by_hand.changes.entries()) {
      const size_t begin = CoresByHand::PlaceOf(shop.shape(), entry.site);
      const auto expected = by_hand.changes.ParametersOf(entry);
      for (size_t j = 0; j < 9; ++j) {
        EXPECT_NEAR(trained.values[*entry.placement.bank][begin + j], expected[j], 1e-6);
      }
    }
  }
}

TEST(CoreTrainerTest, TwoHalvesAreOneTraining) {
  CoreWorkshop shop(kTwoBanks);
  const auto objective = TestObjective();
  const CoreSteps all{.learning_rate = 0.02, .first = 3, .count = 6, .schedule_steps = 12};
  OptimizerState whole_state;
  const auto whole = shop.trainer->Train(shop.Zeros(), *objective, all, &whole_state).value();
  EXPECT_EQ(whole_state.steps, 6U);
  for (const uint64_t half : {uint64_t{1}, uint64_t{4}}) {
    CoreSteps first = all;
    first.count = half;
    CoreSteps second = all;
    second.first = all.first + half;
    second.count = all.count - half;
    CoreWorkshop other(kTwoBanks);
    OptimizerState state;
    const auto begun = other.trainer->Train(other.Zeros(), *objective, first, &state).value();
    const OptimizerState between = state;
    const auto done = other.trainer->Train(begun.values, *objective, second, &state).value();
    EXPECT_EQ(done.values, whole.values);
    EXPECT_EQ(done.loss, whole.loss);
    EXPECT_EQ(state, whole_state);
    // Both without the state and with a state that was not moved on, training goes elsewhere.
    EXPECT_NE(other.trainer->Train(begun.values, *objective, second, nullptr)->values,
              whole.values);
    state = between;
    state.first.assign(state.first.size(), 0.0);
    EXPECT_NE(other.trainer->Train(begun.values, *objective, second, &state)->values, whole.values);
  }
}

TEST(CoreTrainerTest, AConstantRateIsThatOfAScheduleWithoutEnd) {
  CoreWorkshop shop;
  const auto objective = TestObjective();
  const CoreSteps constant{.learning_rate = 0.01, .first = 50, .count = 3};
  CoreSteps scheduled = constant;
  scheduled.schedule_steps = 60;
  const CoreValues zeros = shop.Zeros();
  const CoreValues moved = shop.trainer->Train(zeros, *objective, constant, nullptr)->values;
  const CoreValues less = shop.trainer->Train(zeros, *objective, scheduled, nullptr)->values;
  EXPECT_LT(Distance(less, zeros), 0.5 * Distance(moved, zeros));
}

// FedProx adds this term (arXiv 1812.06127).
TEST(CoreTrainerTest, TheProximalTermPullsTowardsTheStart) {
  CoreWorkshop shop(kTwoBanks);
  const CoreValues from = shop.SomeValues();
  const auto objective = TestObjective();
  const auto moved = [&](double prox, uint64_t count) {
    const CoreSteps steps{.learning_rate = 0.02, .count = count, .prox = prox};
    return shop.trainer->Train(from, *objective, steps, nullptr)->values;
  };
  EXPECT_EQ(moved(0, 1), moved(100, 1)) << "the term is zero at the start";
  const double free = Distance(moved(0, 12), from);
  const double weak = Distance(moved(1, 12), from);
  const double strong = Distance(moved(30, 12), from);
  EXPECT_LT(weak, 0.95 * free);
  EXPECT_LT(strong, 0.7 * weak);
  EXPECT_GT(strong, 0);
}

TEST(CoreTrainerTest, NumbersDoNotDependOnThreads) {
  ThreadParallelRunner threads(3);
  CoreWorkshop one(kTwoBanks);
  CoreWorkshop three(kTwoBanks, threads);
  const auto objective = TestObjective();
  const CoreSteps steps{.learning_rate = 0.02, .count = 3};
  const CoreTrainer::Overlay overlay{.rank = 2, .seed = 4, .labels = {.name = "own"}};
  const CoreValues at = one.SomeValues();
  EXPECT_EQ(one.trainer->Train(at, *objective, steps, nullptr)->values,
            three.trainer->Train(at, *objective, steps, nullptr)->values);
  EXPECT_EQ(AdapterId(**one.trainer->TrainOverlay(at, *objective, steps, overlay)),
            AdapterId(**three.trainer->TrainOverlay(at, *objective, steps, overlay)));
}

TEST(CoreTrainerTest, MaskingsAreCountedByTenthsOfTheirShares) {
  EXPECT_EQ(TenthOfShare(0.001), 0U);
  EXPECT_EQ(TenthOfShare(0.1), 0U);
  EXPECT_EQ(TenthOfShare(0.11), 1U);
  EXPECT_EQ(TenthOfShare(0.1 * 3), 2U) << "0.1 * 3 is above 0.3";
  EXPECT_EQ(TenthOfShare(1), 9U);
  CoreWorkshop shop;
  const auto objective = TestObjective();
  const auto trained =
      shop.trainer->Train(shop.Zeros(), *objective, {.first = 2, .count = 5}, nullptr).value();
  ShareCounts expected{};
  for (uint64_t step = 2; step < 7; ++step) {
    for (const TrainingSequence& sequence : objective->Draw(step)) {
      ++expected[TenthOfShare(sequence.t)];
    }
  }
  EXPECT_EQ(trained.maskings, expected);
  EXPECT_EQ(std::accumulate(expected.begin(), expected.end(), uint64_t{0}), 20U);
}

TEST(CoreTrainerTest, WhatIsServedIsWhatWasTrained) {
  for (const std::vector<float>& boundaries : {std::vector<float>(), kTwoBanks}) {
    CoreWorkshop shop(boundaries);
    const CoreValues values = shop.SomeValues();
    const auto served = TaloraOfCores(CoreFrame(), shop.shape(), values, "global", 1).value();
    CoresByHand by_hand(shop.shape(), values);
    const auto trained =
        TaloraOf(*TinyTextModel(), by_hand.changes,
                 {.name = "global", .kind = AdapterKind::kCore, .frame_id = CoreFrame().id}, {});
    for (size_t bank = 0; bank < shop.shape().banks(); ++bank) {
      const Adapter& part = boundaries.empty() ? *served->trunk : *served->residuals[bank];
      EXPECT_EQ(AdapterId(part), AdapterId(*trained->residuals[bank]));
    }
  }
}

// ---- Overlays

// Returns the loss of fixed maskings with adapters that act at all t.
double LossWith(const AdapterMix& mix) {
  const auto weights = ModelWeights::Create(TinyTextModel(), &mix, SerialRunner()).value();
  NetworkPass<float> pass(*weights, SerialRunner(), {});
  return pass.Run(HeldOutSequences(*TinyTextModel(), CoreExamples(), {}, 12, 8).value(), {});
}

TEST(CoreOverlayTest, LearnsAboveTheCores) {
  CoreWorkshop shop;
  const CoreValues beneath = shop.SomeValues();
  const auto cores = TaloraOfCores(CoreFrame(), shop.shape(), beneath, "global", 1).value();
  const auto overlay =
      shop.trainer
          ->TrainOverlay(beneath, *TestObjective(), {.learning_rate = 0.01, .count = 20},
                         {.rank = 2, .seed = 4, .labels = {.name = "own"}})
          .value();
  EXPECT_EQ(overlay->name, "own");
  EXPECT_TRUE(overlay->residuals.empty());
  EXPECT_EQ(overlay->trunk->kind, AdapterKind::kLora);
  EXPECT_EQ(overlay->trunk->targets.size(), shop.shape().modules.size());
  EXPECT_TRUE(CheckTalora(*overlay, *TinyTextModel()).ok());
  EXPECT_LT(LossWith({.parts = {{cores->trunk}, {overlay->trunk}}}),
            0.9 * LossWith({.parts = {{cores->trunk}}}));
}

TEST(CoreOverlayTest, DependsOnWhatIsBeneathAndOnItsSeed) {
  CoreWorkshop shop(kTwoBanks);
  const auto objective = TestObjective();
  const auto id = [&](const CoreValues& beneath, uint64_t count, uint64_t seed) {
    return AdapterId(**shop.trainer->TrainOverlay(beneath, *objective, {.count = count},
                                                  {.rank = 2, .seed = seed, .labels = {}}));
  };
  EXPECT_EQ(id(shop.SomeValues(), 2, 1), id(shop.SomeValues(), 2, 1));
  EXPECT_NE(id(shop.SomeValues(), 2, 1), id(shop.Zeros(), 2, 1));
  EXPECT_NE(id(shop.SomeValues(), 2, 1), id(shop.SomeValues(), 2, 2));
  EXPECT_EQ(id(shop.SomeValues(), 0, 1), id(shop.Zeros(), 0, 1)) << "without steps it is its start";
}

TEST(CoreOverlayTest, BeginsAsALoraOnTheSameLayersDoes) {
  CoreShape shape = CoreShapeOf(CoreFrame(), 3).value();
  std::erase_if(shape.modules, [](const CoreShape::Module& module) {
    return !module.target.starts_with("blk.1.");
  });
  CoreWorkshop shop;
  const auto trainer = CoreTrainer::Create({.model = TinyTextModel(),
                                            .weights = shop.weights.get(),
                                            .frame = &CoreFrame(),
                                            .runner = &SerialRunner(),
                                            .pass = {}},
                                           shape)
                           .value();
  const CoreValues beneath(1, std::vector<float>(shape.values()));
  const auto overlay = trainer
                           ->TrainOverlay(beneath, *TestObjective(), {.count = 0},
                                          {.rank = 2, .seed = 9, .labels = {}})
                           .value();
  ChangeSet<float> lora(NetworkShape::Of(TinyTextModel()->config()));
  ASSERT_TRUE(
      AddLoras(*TinyTextModel(), SitesFrom(TinyTextModel()->config(), 1, false), 2, false, 9, &lora)
          .ok());
  EXPECT_EQ(AdapterId(*overlay->trunk),
            AdapterId(*AdapterOf(*TinyTextModel(), lora, AdapterLabels())));
}

// ---- Refusals

class CoreRefusalTest : public testing::Test {
 protected:
  std::string Reason(const CoreSteps& steps, const Objective& objective,
                     OptimizerState* state = nullptr) {
    return ReasonOf(shop_.trainer->Train(shop_.Zeros(), objective, steps, state).status());
  }
  CoreWorkshop shop_{kTwoBanks};
  std::unique_ptr<Objective> objective_ = TestObjective();
};

TEST_F(CoreRefusalTest, OptionsOutOfRange) {
  EXPECT_EQ(Reason({.count = 0}, *objective_), "");
  EXPECT_EQ(Reason({.learning_rate = 0}, *objective_), reasons::kInvalidArgument);
  EXPECT_EQ(Reason({.learning_rate = INFINITY}, *objective_), reasons::kInvalidArgument);
  EXPECT_EQ(Reason({.clip_norm = 0}, *objective_), reasons::kInvalidArgument);
  EXPECT_EQ(Reason({.prox = -1}, *objective_), reasons::kInvalidArgument);
  EXPECT_EQ(Reason({.prox = NAN}, *objective_), reasons::kInvalidArgument);
  EXPECT_EQ(Reason({.hold = -1}, *objective_), reasons::kInvalidArgument);
  EXPECT_EQ(Reason({.hold = NAN}, *objective_), reasons::kInvalidArgument);
}

TEST_F(CoreRefusalTest, ObjectivesThatNeedMoreThanOnePass) {
  const auto preferences =
      MakePreferenceObjective(*TinyTextModel(),
                              {{.prompt = {1}, .chosen = {2, 3}, .rejected = {4, 5}}}, {})
          .value();
  EXPECT_EQ(Reason({.count = 1}, *preferences), reasons::kInvalidArgument);
  std::vector<ObjectivePart> parts(1);
  parts[0].objective = TestObjective();
  parts[0].follow_frozen = true;
  EXPECT_EQ(Reason({.count = 1}, *MixObjectives(std::move(parts)).value()),
            reasons::kInvalidArgument);
}

TEST_F(CoreRefusalTest, BlocksWithSeveralBanks) {
  const auto blocks =
      TestObjective({.loss = {.kind = LossKind::kBlockDiffusion, .block_length = 4}, .batch = 2});
  EXPECT_EQ(Reason({.count = 1}, *blocks), reasons::kInvalidArgument);
  CoreWorkshop one_bank;
  EXPECT_TRUE(one_bank.trainer->Train(one_bank.Zeros(), *blocks, {.count = 1}, nullptr).ok());
}

TEST_F(CoreRefusalTest, ValuesAndStatesOfAnotherSize) {
  EXPECT_EQ(
      ReasonOf(shop_.trainer->Train(CoreWorkshop().Zeros(), *objective_, {}, nullptr).status()),
      reasons::kInvalidArgument);
  CoreValues short_values = shop_.Zeros();
  short_values[1].pop_back();
  EXPECT_EQ(ReasonOf(shop_.trainer->Train(short_values, *objective_, {}, nullptr).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(shop_.trainer
                         ->TrainOverlay(short_values, *objective_, {},
                                        {.rank = 2, .seed = 1, .labels = {}})
                         .status()),
            reasons::kInvalidArgument);
  OptimizerState state{.steps = 1, .first = {1.0}, .second = {1.0}};
  const OptimizerState before = state;
  EXPECT_EQ(Reason({.count = 1}, *objective_, &state), reasons::kInvalidArgument);
  EXPECT_EQ(state, before);
}

TEST_F(CoreRefusalTest, AGradientThatIsNotFinite) {
  CoreValues values = shop_.Zeros();
  values[0][0] = values[1][0] = std::numeric_limits<float>::quiet_NaN();
  OptimizerState state;
  EXPECT_EQ(ReasonOf(shop_.trainer->Train(values, *objective_, {.count = 1}, &state).status()),
            reasons::kInternal);
  EXPECT_EQ(state, OptimizerState());
}

TEST_F(CoreRefusalTest, ACallerMayEndATrainingBetweenSlices) {
  int slices = 0;
  uint64_t most_bytes = 0;
  const auto count = [&](uint64_t bytes) {
    ++slices;
    most_bytes = std::max(most_bytes, bytes);
    return absl::OkStatus();
  };
  const CoreSteps steps{.count = 2};
  const auto whole =
      shop_.trainer->Train(shop_.Zeros(), *objective_, steps, nullptr, count).value();
  EXPECT_GE(slices, 8);  // two layers forwards and backwards in each step
  EXPECT_GT(most_bytes, shop_.shape().values() * sizeof(float));
  OptimizerState state;
  int left = slices - 1;
  const auto stop = [&](uint64_t) {
    return left-- > 0 ? absl::OkStatus()
                      : Error(absl::StatusCode::kCancelled, reasons::kCancelled, "stop");
  };
  EXPECT_EQ(
      ReasonOf(shop_.trainer->Train(shop_.Zeros(), *objective_, steps, &state, stop).status()),
      reasons::kCancelled);
  EXPECT_EQ(state, OptimizerState());
  // What was left half done does not show in the next training.
  EXPECT_EQ(shop_.trainer->Train(shop_.Zeros(), *objective_, steps, &state)->values, whole.values);
}

TEST(CoreTrainerCreateTest, FramesMustFit) {
  const auto weights = ModelWeights::Create(TinyTextModel(), nullptr, SerialRunner()).value();
  const auto reason = [&](const FrameSet& frame, const CoreShape& shape) {
    return ReasonOf(CoreTrainer::Create({.model = TinyTextModel(),
                                         .weights = weights.get(),
                                         .frame = &frame,
                                         .runner = &SerialRunner(),
                                         .pass = {}},
                                        shape)
                        .status());
  };
  const CoreShape shape = CoreShapeOf(CoreFrame(), 3).value();
  EXPECT_EQ(reason(CoreFrame(), shape), "");
  FrameSet other = CoreFrame();
  ++other.id[0];
  EXPECT_EQ(reason(other, shape), reasons::kFrameMismatch);
  other.model_hash.fill(9);
  EXPECT_EQ(reason(other, CoreShapeOf(other, 3).value()), reasons::kFrameMismatch);
  FrameSet embedding = CoreFrame();
  embedding.modules.emplace("token_embd.weight", ModuleFrame{.rank = 3});
  EXPECT_EQ(reason(embedding, CoreShapeOf(embedding, 3).value()), reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::inference::train
