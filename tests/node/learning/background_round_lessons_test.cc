// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which lessons a round of learning takes, to which pattern each goes, and which lessons wait
// for a later round or are forgotten.

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/bank.h"
#include "node/learning/background_round.h"
#include "node/learning/lesson_clusters.h"
#include "node/limits.h"
#include "node/serving/pattern_payload.h"
#include "tests/node/learning/background_round_fixture.h"

namespace ruvd::learning {
namespace {

// Regression test: the length was assumed to be one, so a pattern of length ten was near everything
// and one of a tenth near nothing.
TEST_F(BackgroundRoundTest, ALessonGoesToThePatternNearestByAngle) {
  constexpr storage::PatternId kFar{9};
  storage::Pattern near = Known();
  storage::Pattern far = Known();
  far.id = kFar;
  far.embedding = other_;
  for (size_t i = 0; i < near.embedding.size(); ++i) {
    near.embedding[i] *= 0.1F;
    far.embedding[i] = 10 * (far.embedding[i] + 0.5F * embedding_[i]);
  }
  ASSERT_TRUE(patterns_->Put(near).ok());
  ASSERT_TRUE(patterns_->Put(far).ok());
  EXPECT_EQ(Learn().id, kId);
  EXPECT_EQ(patterns_->Get(kFar)->embedding, far.embedding);
}

// Completions search one bank only: what was learned in a pattern of another bank was never served.
TEST_F(BackgroundRoundTest, APatternThatCompletionsDoNotFindLearnsNothing) {
  storage::Pattern low = Known();
  low.bank = 0;
  ASSERT_TRUE(patterns_->Put(low).ok());
  const LearnedPattern learned = Learn();
  EXPECT_EQ(learned.outcome, ClusterOutcome::kKept);
  EXPECT_NE(learned.id, kId);
  EXPECT_EQ(patterns_->Get(learned.id)->bank, static_cast<uint32_t>(inference::BankOf(1)));
}

TEST_F(BackgroundRoundTest, LearningNearAClientsAdapterDoesNotReplaceIt) {
  storage::Pattern given = Known();
  given.adapter_name = "a client's";
  given.payload = serving::EncodePatternPayload({.adapter = "a client's"});
  ASSERT_TRUE(patterns_->Put(given).ok());
  EXPECT_NE(Learn().id, kId);
  EXPECT_EQ(serving::DecodePatternPayload(patterns_->Get(kId)->payload)->adapter, "a client's");
}

// Regression test: only newer lessons were in the round, so an edit of an old response was never
// learned, although it was promised.
TEST_F(BackgroundRoundTest, FreshLessonsComeBeforeAllOthers) {
  for (size_t i = 0; i < limits::kMaxRoundTrajectories; ++i) {
    AddLesson(fmt::format("newer {}", i), other_);
  }
  EXPECT_EQ(Learn().responses, std::set<std::string>{"r"});
}

TEST_F(BackgroundRoundTest, FreshLessonsThatFindNoRoomWaitForTheNextRound) {
  std::set<std::string> fresh = {"r"};
  for (size_t i = 0; i < limits::kMaxRoundTrajectories; ++i) {
    AddLesson(fmt::format("{:03}", i), other_);
    fresh.insert(fmt::format("{:03}", i));
  }
  fresh.insert("gone");  // was replaced by newer ones
  const BackgroundRound round = Run(fresh, [] { return false; });
  EXPECT_TRUE(round.status.ok()) << round.status;
  EXPECT_EQ(round.waiting, std::set<std::string>{"r"})
      << "the oldest: whoever waits sent a newer one";
}

// Its request searched nothing, so it stored no embedding.
TEST_F(BackgroundRoundTest, ALessonWithoutAnEmbeddingIsEmbeddedInTheRound) {
  const std::string prompt = "The lighthouse keeper";
  AddLesson("late", {}, prompt);
  const BackgroundRound round = Run({"late"});
  ASSERT_TRUE(round.status.ok()) << round.status;
  ASSERT_EQ(round.patterns.size(), 1u);
  const std::vector<float> centroid = patterns_->Get(round.patterns.front().id)->embedding;
  const std::vector<float> embedding =
      EmbedText(*transformer_, model_->tokenizer().EncodePrompt(prompt), nullptr).value();
  ASSERT_EQ(centroid.size(), embedding.size());
  for (size_t i = 0; i < centroid.size(); ++i) {
    EXPECT_NEAR(centroid[i], embedding[i], 1e-6);
  }
}

TEST_F(BackgroundRoundTest, EmbeddingLessonsGivesWayToServing) {
  AddLesson("late 1", {});
  AddLesson("late 2", {}, "Another prompt");
  int calls = 0;
  const LearningServices services{.clock = &clock_,
                                  .transformer = transformer_.get(),
                                  .trajectories = trajectories_.get(),
                                  .patterns = patterns_.get(),
                                  .package_id = kRoundPackage,
                                  .between_slices = [&calls](uint64_t) {
                                    ++calls;
                                    return absl::OkStatus();
                                  }};
  std::set<std::string> waiting;
  const auto lessons = CollectLessons(services, 0.7F, {"late 1", "late 2"}, &waiting);
  ASSERT_TRUE(lessons.ok()) << lessons.status();
  EXPECT_EQ(lessons->size(), 3u);
  EXPECT_EQ(calls, 2) << "one before each forward";
}

// Regression test: the prompt fitted the context of the earlier model only, so every round failed
// and nothing was learned any more.
TEST_F(BackgroundRoundTest, ALongPromptOfAFormerModelIsCut) {
  std::string prompt;
  for (int i = 0; i < 3000; ++i) {
    prompt += "ship ";
  }
  AddLesson("old", other_, prompt, Sha256("former package"));
  const BackgroundRound round = Run({"old", "r"}, [] { return false; });
  EXPECT_TRUE(round.status.ok()) << round.status;
  std::set<std::string> taken;
  for (const LearnedPattern& pattern : round.patterns) {
    taken.insert(pattern.responses.begin(), pattern.responses.end());
  }
  EXPECT_EQ(taken, (std::set<std::string>{"old", "r"}));
}

// Regression test: a round that failed forgot what it had taken until the next start.
TEST_F(BackgroundRoundTest, LessonsOfARoundThatFailsWaitForTheNext) {
  free_bytes_ = 0;
  clock_.Advance(limits::kReserveProbeInterval);
  BackgroundRound round = Run({"r"});
  EXPECT_EQ(ReasonOf(round.status), reasons::kStoreReadOnly);
  EXPECT_EQ(round.waiting, std::set<std::string>{"r"});
  ASSERT_EQ(round.patterns.size(), 1u);
  EXPECT_EQ(round.patterns[0].outcome, ClusterOutcome::kFailed);
  EXPECT_EQ(Run({"r"}, [] { return true; }).waiting, std::set<std::string>{"r"}) << "cancelled";
  free_bytes_ = uint64_t{1} << 40;
  clock_.Advance(limits::kReserveProbeInterval);
  round = Run({"r"});
  EXPECT_TRUE(round.status.ok()) << round.status;
  EXPECT_TRUE(round.waiting.empty());
  EXPECT_EQ(trajectories_->Get("r")->learned_by, AsText(kRoundPackage));
  EXPECT_EQ(trajectories_->Get("r")->learned_in, kId);
}

// A user who deletes a pattern also wants what it learned to be gone.
TEST_F(BackgroundRoundTest, WhatADeletedPatternLearnedIsNotTaughtAgain) {
  ASSERT_EQ(Learn().id, kId);
  ASSERT_TRUE(patterns_->Delete(kId).ok());
  EXPECT_TRUE(Run({}).patterns.empty());
  AddLesson("s", embedding_);
  const BackgroundRound round = Run({"s"});
  ASSERT_EQ(round.patterns.size(), 1u);
  EXPECT_EQ(round.patterns[0].responses, std::set<std::string>{"s"});
  AddLesson("t", embedding_);
  EXPECT_EQ(Run({"t"}).patterns[0].responses, (std::set<std::string>{"s", "t"}));
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.rating = 1}).ok());
  EXPECT_TRUE(Run({"r"}).patterns[0].responses.contains("r")) << "new feedback counts";
}

// Regression test: a round that took the new feedback and kept nothing made the node forget it
// again.
TEST_F(BackgroundRoundTest, WhatIsRatedAnewIsNotForgottenWhereARoundKeepsNothing) {
  ASSERT_EQ(Learn().id, kId);
  ASSERT_TRUE(patterns_->Delete(kId).ok());
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.rating = 1}).ok());
  options_.training.min_improvement = 100;
  ASSERT_EQ(Learn().outcome, ClusterOutcome::kNoImprovement);
  options_.training.min_improvement = -100;
  AddLesson("s", embedding_);
  ASSERT_TRUE(Run({"s"}).status.ok());
  AddLesson("t", embedding_);
  EXPECT_EQ(Run({"t"}).patterns[0].responses, (std::set<std::string>{"r", "s", "t"}));
}

TEST_F(BackgroundRoundTest, WhatIsRatedAnewAndAddsNothingStillGoesWithItsPattern) {
  ASSERT_EQ(Learn().id, kId);
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.rating = 1}).ok());
  options_.training.min_improvement = 100;
  ASSERT_EQ(Learn().outcome, ClusterOutcome::kNoImprovement);
  ASSERT_TRUE(patterns_->Delete(kId).ok());
  options_.training.min_improvement = -100;
  AddLesson("s", embedding_);
  ASSERT_TRUE(Run({"s"}).status.ok());
  AddLesson("t", embedding_);
  EXPECT_EQ(Run({"t"}).patterns[0].responses, (std::set<std::string>{"s", "t"}));
}

TEST_F(BackgroundRoundTest, AStoppedRoundLeavesItsLessonsForTheNext) {
  slice_ = Duration(0);
  bool stop = false;
  int yields = 0;
  between_slices_ = [&](uint64_t) {
    stop = ++yields == 5;
    return absl::OkStatus();
  };
  const uint64_t before = patterns_->Stats().last_sequence;
  BackgroundRound round = Run({"r"}, [&] { return stop; });
  EXPECT_TRUE(absl::IsCancelled(round.status)) << round.status;
  EXPECT_EQ(round.waiting, std::set<std::string>{"r"});
  EXPECT_EQ(yields, 5);
  EXPECT_EQ(patterns_->Stats().last_sequence, before);
  between_slices_ = [](uint64_t) { return absl::ResourceExhaustedError("over the budget"); };
  round = Run({"r"});
  EXPECT_TRUE(absl::IsResourceExhausted(round.status)) << round.status;
  EXPECT_EQ(round.waiting, std::set<std::string>{"r"});
}

// A measurement on the training lessons would find every lesson useful.
TEST_F(BackgroundRoundTest, OfFourLessonsOneIsHeldBack) {
  for (const char* id : {"s", "t"}) {
    AddLesson(id, embedding_);
  }
  EXPECT_EQ(Learn().held_back, 0);
  AddLesson("u", embedding_);
  const BackgroundRound round = Run({"u"});
  ASSERT_EQ(round.patterns.size(), 1u);
  EXPECT_EQ(round.patterns[0].examples, 4);
  EXPECT_EQ(round.patterns[0].held_back, 1);
  EXPECT_EQ(patterns_->Get(kId)->examples, 4u);
}

}  // namespace
}  // namespace ruvd::learning
