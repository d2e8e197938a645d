// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The adapter of the cluster's rounds acts beneath what a node learns itself. Tests that deep
// rounds and patterns are trained and judged on top of it, and that another version of it ends no
// round.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "inference/evaluate/paired.h"
#include "node/learning/paired_losses.h"
#include "node/learning/stale_patterns.h"
#include "tests/node/deep_round_fixture.h"
#include "tests/node/global_cores.h"
#include "tests/node/learning/background_round_fixture.h"

namespace ruvd::learning {
namespace {

constexpr char kLessonPrompt[] = "The lighthouse keeper";
constexpr char kLessonText[] = " counted the ships every evening and wrote it down.";
// The stream of the masks with which deep rounds score lessons that they hold back.
constexpr uint64_t kMaskStream = 0x646565702d6f7574ULL;

class DeepOnGlobalTest : public DeepRoundFixture {
 protected:
  void SetUp() override {
    DeepRoundFixture::SetUp();
    cores_ = std::make_unique<test::GlobalCores>(model_);
  }
  // Returns a version that was taught the lesson for so many steps.
  std::shared_ptr<const inference::Talora> Taught(uint64_t steps, uint32_t version) const {
    return cores_->Adapter(cores_->Train(kLessonPrompt, kLessonText, steps), version);
  }
  // Returns the loss of the lessons that a round held back, as requests are served now.
  double ServedLoss(const DeepResult& result, uint64_t seed = 1) {
    Random random(seed);
    const std::vector<inference::ScoredDocument> lessons(
        result.held_back, {.prompt = model_->tokenizer().EncodePrompt(kLessonPrompt),
                           .completion = model_->tokenizer().EncodeContinuation(kLessonText)});
    return MeanLoss(inference::EvaluateNelbo(*transformer_, lessons,
                                             serving::MixesOf(catalog_->Choose({}).value()),
                                             {.draws = 4, .seed = random.Next() ^ kMaskStream})
                        ->nats);
  }

  std::unique_ptr<test::GlobalCores> cores_;
};

TEST_F(DeepOnGlobalTest, TheSumThatIsServedIsTheSumThatWasMeasured) {
  const double bare = ServedLoss({.held_back = kDeepTestLessons / 4});
  catalog_->SetGlobal(Taught(6, 1));
  const DeepResult result = Run();
  ASSERT_EQ(result.outcome, DeepOutcome::kPublished);
  EXPECT_LT(result.held_out_before, bare - 0.01) << "with the global adapter";
  EXPECT_GT(result.held_out_before - result.held_out_after, result.standard_error);
  EXPECT_EQ(catalog_->Choose({})->size(), 2u);
  EXPECT_NEAR(ServedLoss(result), result.held_out_after, 1e-5);
  ASSERT_TRUE(catalog_->Unload(serving::kDeepAdapter, 1).ok());
  EXPECT_NEAR(ServedLoss(result), result.held_out_before, 1e-5);
}

TEST_F(DeepOnGlobalTest, WhatIsBeneathChangesWhatIsLearned) {
  const DeepResult alone = Run();
  ASSERT_EQ(alone.outcome, DeepOutcome::kPublished);
  const Digest id = ServedId();
  catalog_->SetGlobal(Taught(6, 1));
  ASSERT_EQ(RunAnew(alone, 1).outcome, DeepOutcome::kPublished);
  EXPECT_NE(ServedId(), id);
}

// Rounds of the cluster take minutes, deep rounds may take hours.
TEST_F(DeepOnGlobalTest, AnotherVersionEndsNoRoundAndTheNewestOneJudges) {
  catalog_->SetGlobal(Taught(2, 1));
  const auto round = Begin();
  ASSERT_TRUE(round->Work(std::chrono::hours(1)).value());
  catalog_->SetGlobal(Taught(6, 2));
  const auto result = round->Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->outcome, DeepOutcome::kPublished);
  EXPECT_NEAR(ServedLoss(*result), result->held_out_after, 1e-5);
  ASSERT_TRUE(catalog_->Unload(serving::kDeepAdapter, 1).ok());
  EXPECT_NEAR(ServedLoss(*result), result->held_out_before, 1e-5);
}

TEST_F(DeepOnGlobalTest, AnInterruptedRoundContinuesOnTheNewestVersion) {
  catalog_->SetGlobal(Taught(2, 1));
  {
    const auto round = Begin();
    while (round->step() < 3) {
      ASSERT_FALSE(round->Work(Duration(1)).value());
    }
  }
  catalog_->SetGlobal(Taught(4, 2));
  const DeepResult result = Run(99);
  EXPECT_EQ(result.resumed_at, 3u);
  EXPECT_EQ(result.outcome, DeepOutcome::kPublished);
  // Without any global adapter the task is another one.
  {
    const auto round = Begin(2);
    while (round->step() < 3) {
      ASSERT_FALSE(round->Work(Duration(1)).value());
    }
  }
  catalog_->SetGlobal(nullptr);
  EXPECT_EQ(Run(3).resumed_at, 0u);
}

class PatternOnGlobalTest : public BackgroundRoundTest {};

TEST_F(PatternOnGlobalTest, APatternIsTrainedOnTopOfItAndOutlastsItsVersions) {
  catalog_ = std::make_unique<serving::AdapterCatalog>(*model_, serving::AdapterCatalogOptions());
  const test::GlobalCores cores(model_);
  const double bare = Learn().held_out_before;
  const test::GlobalCores::Values values =
      cores.Train(kLessonPrompt, " counted the ships every evening.", 6);
  catalog_->SetGlobal(cores.Adapter(values, 1));
  const LearnedPattern learned = Learn();
  EXPECT_EQ(learned.outcome, ClusterOutcome::kKept);
  EXPECT_LT(learned.held_out_before, bare - 0.01);
  EXPECT_LT(learned.held_out_after, learned.held_out_before);
  catalog_->SetGlobal(cores.Adapter(values, 2));
  EXPECT_TRUE(LessonsOfStalePatterns({.trajectories = trajectories_.get(),
                                      .patterns = patterns_.get(),
                                      .package_id = kRoundPackage,
                                      .catalog = catalog_.get()},
                                     0.7F)
                  ->empty());
}

}  // namespace
}  // namespace ruvd::learning
