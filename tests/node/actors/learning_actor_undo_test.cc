// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests that a change is undone for good, and that feedback newer than the undone change is
// learned.

#include <string>

#include "base/status.h"
#include "node/actors/learning_actor.h"
#include "node/limits.h"
#include "storage/reasons.h"
#include "tests/node/actors/learning_actor_fixture.h"

namespace ruvd::actors {
namespace {

TEST_F(LearningActorTest, AnAnswerSaysWhatChangedAndHowToUndoIt) {
  const learning::FeedbackAnswer answer = Accept();
  ASSERT_TRUE(answer.learned);
  ASSERT_EQ(answer.changes.size(), 1u);
  EXPECT_EQ(answer.changes[0].kind, storage::ChangeKind::kPatternStored);
  EXPECT_EQ(answer.changes[0].adapter_name, answer.adapter_name);
  EXPECT_FALSE(answer.changes[0].on_demand);
  const auto undone = Undo(storage::TokenOf(answer.changes[0]));
  ASSERT_TRUE(undone.ok()) << undone.status();
  EXPECT_EQ(patterns_->size(), 0u);
  EXPECT_EQ(learned_.size(), 2u) << "peers are told";
  PassTheAgeOfARound();
  EXPECT_EQ(patterns_->size(), 0u);
  EXPECT_EQ(ReasonOf(Undo(storage::TokenOf(answer.changes[0])).status()), reasons::kCannotUndo);
}

// Regression test: the undo removed it from the waiting feedback, so no round learned it, although
// its answer promised that.
TEST_F(LearningActorTest, FeedbackThatIsNewerThanWhatIsUndoneIsLearned) {
  const learning::FeedbackAnswer first = Accept();
  ASSERT_EQ(first.changes.size(), 1u);
  AddResponse("far", other_);
  absl::StatusOr<learning::FeedbackAnswer> edited = absl::UnknownError("no answer");
  absl::StatusOr<storage::LearningChange> undone = absl::UnknownError("no answer");
  on_training_ = [&] {
    ASSERT_TRUE(
        learning_
            ->Submit({.response_id = "r", .edited_text = " slept."},
                     [&](absl::StatusOr<learning::FeedbackAnswer> given) { edited = given; })
            .ok());
    learning_->Undo(storage::TokenOf(first.changes[0]),
                    [&](absl::StatusOr<storage::LearningChange> given) { undone = given; });
  };
  ASSERT_TRUE(Submit({.response_id = "far", .accepted = true}).learned);
  ASSERT_TRUE(undone.ok()) << undone.status();
  PassTheAgeOfARound();
  ASSERT_TRUE(edited.ok()) << edited.status();
  EXPECT_TRUE(edited->learned) << edited->explanation;
  EXPECT_EQ(patterns_->size(), 2u);
}

// Regression test: only the queue forgot it, so the next start taught it anyway.
TEST_F(LearningActorTest, NoRoundTeachesWhatASessionUndidAfterARestart) {
  KeepCommits("r");
  const learning::FeedbackAnswer rated = Submit({.response_id = "r", .rating = 0.9F});
  ASSERT_EQ(rated.changes.size(), 1u);
  ASSERT_EQ(rated.changes[0].kind, storage::ChangeKind::kSessionTaught);
  ASSERT_TRUE(Undo(storage::TokenOf(rated.changes[0])).ok());
  EXPECT_EQ(RunComputeRound(false)->patterns_kept, 0u);
  Start();
  EXPECT_EQ(RunComputeRound(false)->patterns_kept, 0u);
  EXPECT_EQ(RunComputeRound(true)->patterns_kept, 0u);
  EXPECT_TRUE(Accept().learned) << "new feedback counts";
}

TEST_F(LearningActorTest, NewFeedbackOfLessonsThatMoveWithAnUndoneMergeIsLearned) {
  ASSERT_TRUE(Accept().learned);
  AddResponse("far", other_);
  ASSERT_TRUE(Submit({.response_id = "far", .accepted = true}).learned);
  storage::Pattern moved = *patterns_->Get(learned_.back());
  moved.embedding = embedding_;
  ASSERT_TRUE(patterns_->Put(moved).ok());
  AddResponse("s", embedding_);
  ASSERT_TRUE(Submit({.response_id = "s", .accepted = true}).learned);
  const storage::LearningChange merge = ListChanges().at(0);
  ASSERT_EQ(merge.kind, storage::ChangeKind::kPatternsMerged);
  ASSERT_FALSE(merge.responses.empty());
  for (const std::string& response : merge.responses) {
    Submit({.response_id = response, .copied = true});
  }
  ASSERT_TRUE(Undo(storage::TokenOf(merge)).ok());
  EXPECT_GE(RunComputeRound(false)->patterns_kept, 1u);
}

// Regression test: the undo of the first feedback took back what the second had taught, and the
// undo of the second then found nothing.
TEST_F(LearningActorTest, OfTwoFeedbacksOfOneResponseTheSecondIsUndone) {
  KeepCommits("r");
  const learning::FeedbackAnswer first = Submit({.response_id = "r", .rating = 1.0F});
  const learning::FeedbackAnswer second = Submit({.response_id = "r", .rating = 0.0F});
  ASSERT_EQ(first.changes.size(), 1u);
  ASSERT_EQ(second.changes.size(), 1u);
  EXPECT_EQ(ReasonOf(Undo(storage::TokenOf(first.changes[0])).status()), reasons::kCannotUndo);
  EXPECT_TRUE(Undo(storage::TokenOf(second.changes[0])).ok());
  EXPECT_FALSE(instant_->HasLessonsOf({"", "session"}, "r"));
}

TEST_F(LearningActorTest, WhatASessionForgotIsSaidToBeForgotten) {
  KeepCommits("r");
  ASSERT_EQ(Submit({.response_id = "r", .rating = 0.0F}).changes.size(), 1u);
  EXPECT_FALSE(ListChanges().at(0).forgotten);
  executor_.RunFor(2 * limits::kInstantIdle);
  ASSERT_EQ(ListChanges().at(0).kind, storage::ChangeKind::kSessionTaught);
  EXPECT_TRUE(ListChanges().at(0).forgotten);
  EXPECT_EQ(ReasonOf(Undo(storage::TokenOf(ListChanges().at(0))).status()), reasons::kCannotUndo);
}

TEST_F(LearningActorTest, ARoundOfAllTeachesNothingThatWasUndoneOrDeleted) {
  const learning::FeedbackAnswer answer = Accept();
  ASSERT_EQ(answer.changes.size(), 1u);
  ASSERT_TRUE(Undo(storage::TokenOf(answer.changes[0])).ok());
  ASSERT_EQ(RunComputeRound(true)->patterns_kept, 0u);
  ASSERT_TRUE(Accept().learned) << "new feedback counts";
  ASSERT_TRUE(patterns_->Delete(learned_.back()).ok());
  EXPECT_EQ(RunComputeRound(true)->patterns_kept, 0u);
  EXPECT_EQ(patterns_->size(), 0u);
}

}  // namespace
}  // namespace ruvd::actors
