// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/frame_fisher.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/train/core_trainer.h"
#include "tests/inference/core_trainer_fixture.h"

namespace ruvd::inference {
namespace {

using test::CoreExamples;
using test::CoreFrame;
using test::CoreWorkshop;
using test::kCoreRank;
using test::TinyTextModel;
using train::CoreTrainer;

absl::StatusOr<FrameSet> Filled(const FisherOptions& options,
                                ParallelRunner& runner = SerialRunner(),
                                const FrameProgress& progress = nullptr) {
  FrameSet frame = CoreFrame();
  RETURN_IF_ERROR(AddFisher(TinyTextModel(), CoreExamples(), options, runner, &frame, progress));
  return frame;
}

// The trainer's cores have a lower rank than the frame, so this shows which block is theirs, too.
TEST(FrameFisherTest, IsTheMeanSquaredGradientOfEachPieceAtZero) {
  const FrameSet frame = Filled({.seed = 3}).value();
  CoreWorkshop shop;
  Random random(3);
  std::vector<double> sums(shop.shape().values());
  for (const TrainingExample& text : CoreExamples()) {
    std::vector<float> gradient(sums.size());
    float* const place = gradient.data();
    const CoreTrainer::Draw draw{.text = &text, .seed = random.Next()};
    double t = 0;
    ASSERT_TRUE(
        shop.trainer
            ->Gradients(shop.Zeros(), std::span(&draw, 1), std::span(&place, 1), std::span(&t, 1))
            .ok());
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
    }
  }
  size_t at = 0;
  for (const CoreShape::Module& module : shop.shape().modules) {
    const ModuleFrame& filled = frame.modules.at(module.target);
    ASSERT_EQ(filled.fisher.size(), static_cast<size_t>(filled.rank * filled.rank));
    for (int row = 0; row < kCoreRank; ++row) {
      for (int column = 0; column < kCoreRank; ++column, ++at) {
        const double expected = sums[at] / static_cast<double>(CoreExamples().size());
        EXPECT_NEAR(filled.fisher[static_cast<size_t>(row * filled.rank + column)], expected,
                    1e-4 * expected + 1e-12)
            << module.target;
      }
    }
  }
}

TEST(FrameFisherTest, ChangesNothingElseButTheId) {
  const FrameSet frame = Filled({}).value();
  EXPECT_TRUE(frame.has_fisher());
  EXPECT_NE(frame.id, CoreFrame().id);
  for (const auto& [target, module] : frame.modules) {
    EXPECT_EQ(module.p, CoreFrame().modules.at(target).p);
    EXPECT_EQ(module.q, CoreFrame().modules.at(target).q);
  }
  const auto parsed = ParseFrameSet(AsBytes(SerializeFrameSet(frame).value()));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->id, frame.id);
}

TEST(FrameFisherTest, DependsOnTheSeedAndNeitherOnBatchesNorThreads) {
  const Digest id = Filled({.seed = 1, .batch = 3}).value().id;
  EXPECT_EQ(Filled({.seed = 1, .batch = 1}).value().id, id);
  EXPECT_EQ(Filled({.seed = 1, .batch = 100}).value().id, id);
  ThreadParallelRunner three(3);
  EXPECT_EQ(Filled({.seed = 1, .batch = 3}, three).value().id, id);
  EXPECT_NE(Filled({.seed = 2, .batch = 3}).value().id, id);
}

TEST(FrameFisherTest, RefusesWhatCannotBeComputedAndLeavesTheFrame) {
  EXPECT_EQ(ReasonOf(Filled({.batch = 0}).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(Filled({}, SerialRunner(), [](uint64_t, uint64_t) { return false; }).status()),
            reasons::kCancelled);
  FrameSet frame = CoreFrame();
  EXPECT_EQ(ReasonOf(AddFisher(TinyTextModel(), {}, {}, SerialRunner(), &frame)),
            reasons::kInvalidArgument);
  const std::vector<TrainingExample> empty(1);
  EXPECT_EQ(ReasonOf(AddFisher(TinyTextModel(), empty, {}, SerialRunner(), &frame)),
            reasons::kInvalidArgument);
  EXPECT_FALSE(frame.has_fisher());
  EXPECT_EQ(frame.id, CoreFrame().id);
}

}  // namespace
}  // namespace ruvd::inference
