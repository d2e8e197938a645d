// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which patterns of peers a node lets serve, with a real model.

#include "node/sharing/pattern_trial.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/serving/pattern_payload.h"
#include "node/sharing/shared_items.h"
#include "tests/inference/counting_transformer.h"
#include "tests/node/judging_fixture.h"
#include "tests/node/shared_core.h"

namespace ruvd::sharing {
namespace {

using storage::PatternStanding;

constexpr char kPrompt[] = "The lighthouse keeper of house 7";

class PatternTrialTest : public JudgingTest {
 protected:
  void SetUp() override {
    JudgingTest::SetUp();
    shared_ = std::make_unique<test::SharedPatterns>(model_);
    counting_ = std::make_unique<test::CountingTransformer>(*transformer_);
  }
  storage::Pattern Row(const federation::SharedPattern& pattern) const {
    return PatternFromShared(pattern, Sha256("peer"), &shared_->frame(), 1).value();
  }
  federation::SharedPattern Learned() { return shared_->Learned(1, kPrompt, kJudged, 1000); }
  // Returns a pattern with large cores of noise.
  federation::SharedPattern Loud() {
    federation::SharedPattern pattern = Learned();
    Random random(1);
    for (federation::CoreDelta& core : pattern.cores) {
      std::vector<float> values(core.values.steps.size());
      for (float& value : values) {
        value = static_cast<float>(4 * random.Normal());
      }
      core.values = inference::ToGrid(values);
    }
    return pattern;
  }
  learning::LearningServices WithFrame() {
    learning::LearningServices services = Services();
    services.frame = &shared_->frame();
    return services;
  }
  absl::StatusOr<TrialVerdict> TryToJudge(const storage::Pattern& pattern) {
    learning::LearningServices services = WithFrame();
    services.transformer = counting_.get();
    counting_->sequences.clear();
    return trial_.Judge(services, pattern);
  }
  TrialVerdict Judge(const federation::SharedPattern& pattern) {
    const auto verdict = TryToJudge(Row(pattern));
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    return verdict.value_or(TrialVerdict());
  }

  std::unique_ptr<test::SharedPatterns> shared_;
  std::unique_ptr<test::CountingTransformer> counting_;
  PatternTrial trial_{{}};
};

TEST_F(PatternTrialTest, WhatHelpsTheLessonsNearItServesAndItsOppositeDoesNot) {
  AddJudges(8);
  const federation::SharedPattern good = Learned();
  const TrialVerdict helps = Judge(good);
  EXPECT_EQ(helps.standing, PatternStanding::kServing)
      << helps.general_before << " " << helps.general_after;
  EXPECT_EQ(helps.lessons, 8U);
  EXPECT_GT(helps.gain, 2 * helps.standard_error);
  EXPECT_GT(helps.general_before, 0);
  const TrialVerdict harms = Judge(test::SharedPatterns::Times(good, -1));
  EXPECT_EQ(harms.standing, PatternStanding::kLessonsWorse);
  EXPECT_LT(harms.gain, -2 * harms.standard_error);
}

// A node with few lessons must not take what hurts them either.
TEST_F(PatternTrialTest, OneLessonNearItCanRefuse) {
  AddJudges(1);
  const TrialVerdict harms = Judge(test::SharedPatterns::Times(Learned(), -1));
  EXPECT_EQ(harms.lessons, 1U);
  EXPECT_GT(harms.standard_error, 0);
  EXPECT_EQ(harms.standing, PatternStanding::kLessonsWorse);
}

TEST_F(PatternTrialTest, LessonsOfAnotherDomainDoNotJudge) {
  AddJudges(8);
  federation::SharedPattern far = test::SharedPatterns::Times(Learned(), -0.05F);
  for (float& value : far.centroid) {
    value = -value;
  }
  const TrialVerdict verdict = Judge(far);
  EXPECT_EQ(verdict.lessons, 0U);
  EXPECT_EQ(verdict.gain, 0);
  EXPECT_EQ(verdict.standing, PatternStanding::kServing)
      << verdict.general_before << " " << verdict.general_after;
}

TEST_F(PatternTrialTest, WithoutLessonsNearItGeneralTextDecidesAlone) {
  const TrialVerdict helps = Judge(Learned());
  EXPECT_EQ(helps.lessons, 0U);
  EXPECT_EQ(helps.standing, PatternStanding::kServing)
      << helps.general_before << " " << helps.general_after;
  const TrialVerdict loud = Judge(Loud());
  EXPECT_EQ(loud.standing, PatternStanding::kGeneralTextWorse);
  EXPECT_GT(loud.general_after, 1.005 * loud.general_before);
}

// What lies near general text would serve it, so that a small loss is too much there.
TEST_F(PatternTrialTest, NearGeneralTextTheGateOfAdaptersForAllTextDecides) {
  const std::vector<inference::TokenId> passage = model_->tokenizer().EncodePrompt(
      "The keeper of the lighthouse writes into the book each day.");
  PatternTrial trial({.general = {passage}});
  storage::Pattern row = Row(test::SharedPatterns::Times(Learned(), -0.5F));
  const TrialVerdict far = trial.Judge(WithFrame(), row).value();
  ASSERT_GT(far.general_after, 1.005 * far.general_before);
  EXPECT_EQ(far.standing, PatternStanding::kServing);
  row.embedding = inference::EmbedText(learning::EmbedderOf(Services()), passage, nullptr).value();
  EXPECT_EQ(trial.Judge(WithFrame(), row).value().standing, PatternStanding::kGeneralTextWorse);
}

TEST_F(PatternTrialTest, AnAdapterOfAnotherModelIsUnusable) {
  storage::Pattern row = Row(Learned());
  row.payload.clear();
  const auto empty = TryToJudge(row);
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->standing, PatternStanding::kUnusable);
  EXPECT_TRUE(counting_->sequences.empty());
}

// Found by review: a change of the node's frame lost the patterns that waited for their trial.
TEST_F(PatternTrialTest, APatternOfAFormerFrameWaits) {
  storage::Pattern row = Row(Learned());
  serving::PatternPayload payload = *serving::DecodePatternPayload(row.payload);
  payload.cores->frame_id[0] ^= 1;
  row.payload = serving::EncodePatternPayload(payload);
  EXPECT_EQ(ReasonOf(TryToJudge(row).status()), reasons::kFrameMismatch);
}

TEST_F(PatternTrialTest, AStopEndsItBetweenTwoForwards) {
  AddJudges(2);
  const storage::Pattern row = Row(Learned());
  cancelled_ = true;
  EXPECT_TRUE(absl::IsCancelled(TryToJudge(row).status()));
  EXPECT_TRUE(counting_->sequences.empty());
  cancelled_ = false;
  EXPECT_TRUE(TryToJudge(row).ok());
}

}  // namespace
}  // namespace ruvd::sharing
