// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which feedback a start finds that no round has taken, and what each feedback teaches.

#include "node/actors/learning_actor.h"

#include <fmt/format.h>

#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "tests/node/actors/learning_actor_fixture.h"

namespace ruvd::actors {
namespace {

// Regression test: later lessons were measured by the patterns that are left, so a user who deleted
// a pattern got it back under another id, and so did peers.
TEST_F(LearningActorTest, ADeletedPatternDoesNotComeBackWithTheNextStart) {
  ASSERT_TRUE(Accept().learned);
  ASSERT_EQ(learned_.size(), 1u);
  ASSERT_TRUE(patterns_->Delete(learned_[0]).ok());
  Start();
  PassTheAgeOfARound();
  EXPECT_EQ(patterns_->size(), 0u);
  EXPECT_EQ(learned_.size(), 1u);
}

TEST_F(LearningActorTest, FeedbackThatNoRoundTookIsLearnedAfterTheNextStart) {
  system_.reset();
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.accepted = true}).ok());
  Start();
  PassTheAgeOfARound();
  EXPECT_EQ(patterns_->size(), 1u);
}

TEST_F(LearningActorTest, WhatOneModelLearnedAnotherLearnsAnew) {
  ASSERT_TRUE(Accept().learned);
  package_ = Sha256("another package");
  Start();
  PassTheAgeOfARound();
  EXPECT_EQ(learned_.size(), 2u);
}

TEST_F(LearningActorTest, ANodeThatDoesNotLearnStartsNoRoundForWhatItFinds) {
  enabled_ = false;
  Start();
  const learning::FeedbackAnswer answer = Accept();
  EXPECT_FALSE(answer.learned);
  EXPECT_EQ(answer.explanation, "recorded; the model has no mask token");
  Start();
  PassTheAgeOfARound();
  EXPECT_EQ(patterns_->size(), 0u);
}

TEST_F(LearningActorTest, APatternDeletedWhileItTrainsIsNotReportedAsUseless) {
  ASSERT_TRUE(Accept().learned);
  on_training_ = [&] { ASSERT_TRUE(patterns_->Delete(learned_[0]).ok()); };
  EXPECT_NE(Accept().explanation.find("was deleted"), std::string::npos);
}

TEST_F(LearningActorTest, FeedbackThatIsSentAgainIsLearnedOnceAlsoAfterARestart) {
  const learning::Feedback feedback{
      .response_id = "r", .accepted = true, .idempotency_key = "once"};
  const learning::FeedbackAnswer first = Submit(feedback);
  ASSERT_TRUE(first.learned);
  const learning::FeedbackAnswer second = Submit(feedback);
  Start();
  const learning::FeedbackAnswer third = Submit(feedback);
  for (const learning::FeedbackAnswer& again : {second, third}) {
    EXPECT_TRUE(again.learned);
    EXPECT_EQ(again.pattern_id, first.pattern_id);
    EXPECT_EQ(again.adapter_version, first.adapter_version);
    EXPECT_EQ(again.held_out_after, first.held_out_after);
    EXPECT_EQ(again.changes, first.changes);
  }
  EXPECT_EQ(learned_.size(), 1u);
  EXPECT_TRUE(Accept().learned) << "without the key it is new";
  EXPECT_EQ(learned_.size(), 2u);
}

// Regression test: the request was answered with what the first response's feedback had given, and
// never stored.
TEST_F(LearningActorTest, AKeyThatIsUsedForAnotherFeedbackNamesThatOne) {
  AddResponse("s", embedding_);
  ASSERT_TRUE(Submit({.response_id = "r", .accepted = true, .idempotency_key = "1"}).learned);
  EXPECT_TRUE(Submit({.response_id = "s", .accepted = true, .idempotency_key = "1"}).learned);
  EXPECT_EQ(trajectories_->Get("s")->accepted, true);
  EXPECT_TRUE(
      Submit({.response_id = "s", .edited_text = " slept.", .idempotency_key = "1"}).learned);
  EXPECT_EQ(trajectories_->Get("s")->edited_text, " slept.");
  EXPECT_EQ(learned_.size(), 3u);
}

// Regression test: the running round did not know of it, so the next one learned it again.
TEST_F(LearningActorTest, FeedbackThatIsSentAgainWhileItIsLearnedIsLearnedOnce) {
  const learning::Feedback feedback{
      .response_id = "r", .accepted = true, .idempotency_key = "once"};
  absl::StatusOr<learning::FeedbackAnswer> again = absl::UnknownError("no answer");
  on_training_ = [&] {
    ASSERT_TRUE(learning_
                    ->Submit(feedback,
                             [&](absl::StatusOr<learning::FeedbackAnswer> given) { again = given; })
                    .ok());
  };
  const learning::FeedbackAnswer first = Submit(feedback);
  ASSERT_TRUE(first.learned);
  PassTheAgeOfARound();
  EXPECT_EQ(learned_.size(), 1u);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->learned);
  EXPECT_EQ(again->changes, first.changes);
}

TEST_F(LearningActorTest, APauseLetsFeedbackWaitAlsoAfterARestart) {
  EXPECT_TRUE(SetPaused(true).paused);
  const learning::FeedbackAnswer answer = Accept();
  EXPECT_FALSE(answer.learned);
  EXPECT_NE(answer.explanation.find("paused"), std::string::npos) << answer.explanation;
  EXPECT_EQ(ReasonOf(RunComputeRound(false).status()), "LEARNING_PAUSED");
  Start();
  PassTheAgeOfARound();
  EXPECT_EQ(patterns_->size(), 0u);
  const learning::LearningStatus resumed = SetPaused(false);
  EXPECT_FALSE(resumed.paused);
  EXPECT_EQ(patterns_->size(), 1u) << "what waited is learned";
}

// Regression test: such callers got no answer until learning was resumed or their deadline passed.
TEST_F(LearningActorTest, WhoWaitsForARoundThatAPausePreventsIsAnswered) {
  AddResponse("s", other_);
  absl::StatusOr<learning::FeedbackAnswer> late = absl::UnknownError("no answer");
  absl::StatusOr<learning::BackgroundRoundSummary> asked = absl::UnknownError("no answer");
  on_training_ = [&] {
    ASSERT_TRUE(learning_
                    ->Submit({.response_id = "s", .accepted = true},
                             [&](absl::StatusOr<learning::FeedbackAnswer> given) { late = given; })
                    .ok());
    learning_->RunBackground(
        false, [&](absl::StatusOr<learning::BackgroundRoundSummary> given) { asked = given; });
    learning_->SetPaused(true, [](const absl::StatusOr<learning::LearningStatus>&) {});
  };
  Accept();
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_FALSE(late->learned);
  EXPECT_NE(late->explanation.find("paused"), std::string::npos) << late->explanation;
  EXPECT_EQ(ReasonOf(asked.status()), "LEARNING_PAUSED");
  const size_t before = learned_.size();
  SetPaused(false);
  EXPECT_EQ(learned_.size(), before + 1) << "what was not learned then is learned now";
}

TEST_F(LearningActorTest, AnOperatorStartsARoundOfWhatWaitsOrOfAll) {
  const learning::FeedbackAnswer rated = Submit({.response_id = "r", .rating = 0.9F});
  EXPECT_FALSE(rated.learned) << "waits for others";
  absl::StatusOr<learning::BackgroundRoundSummary> summary = RunComputeRound(false);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->patterns_kept, 1u);
  ASSERT_EQ(summary->changes.size(), 1u);
  EXPECT_TRUE(summary->changes[0].on_demand);
  summary = RunComputeRound(false);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->patterns_kept, 0u) << "nothing waited";
  summary = RunComputeRound(true);
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->patterns_kept, 1u);
}

TEST_F(LearningActorTest, WhatUsersDoTeachesUnlessTheyDidOtherwise) {
  EXPECT_FALSE(
      Submit({.response_id = "r", .copied = true, .metadata = {{"client", "editor"}}}).learned)
      << "a weak signal waits for others";
  EXPECT_EQ(trajectories_->Get("r")->metadata.at("client"), "editor");
  PassTheAgeOfARound();
  ASSERT_EQ(patterns_->size(), 1u);
  EXPECT_FLOAT_EQ(patterns_->Get(learned_[0])->quality, 0.5F);
  const learning::FeedbackAnswer regenerated = Submit({.response_id = "r", .regenerated = true});
  EXPECT_NE(regenerated.explanation.find("not liked"), std::string::npos);
  EXPECT_EQ(RunComputeRound(true)->patterns_kept, 0u);
}

TEST_F(LearningActorTest, ABadRatingAfterAnAcceptanceTeachesNothing) {
  ASSERT_TRUE(Accept().learned);
  const learning::FeedbackAnswer rated = Submit({.response_id = "r", .rating = 0.0F});
  EXPECT_NE(rated.explanation.find("not liked"), std::string::npos) << rated.explanation;
  EXPECT_EQ(RunComputeRound(true)->patterns_kept, 0u);
  ASSERT_FALSE(Submit({.response_id = "r", .rating = 1.0F}).learned) << "waits for others";
  EXPECT_FALSE(Submit({.response_id = "r", .accepted = false}).learned);
  EXPECT_EQ(RunComputeRound(true)->patterns_kept, 0u);
}

TEST_F(LearningActorTest, TheRouterIsTrainedBesideTheRoundsAndUndoneLikePatterns) {
  StartWithRouter(1200);
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.rating = 0}).ok());
  for (size_t i = 0; i < ratings_.size() - 1; ++i) {  // before the node started
    ASSERT_TRUE(
        trajectories_->SetFeedback(fmt::format("served-{}", i), {.accepted = ratings_[i] > 0.5})
            .ok());
  }
  Submit({.response_id = fmt::format("served-{}", ratings_.size() - 1), .accepted = false});
  EXPECT_FALSE(router_learner_->due());
  const auto summary = RunComputeRound(false);
  ASSERT_TRUE(summary.ok()) << summary.status();
  ASSERT_EQ(summary->changes.size(), 1u) << "an operator's round does not wait until it is due";
  const storage::LearningChange change = summary->changes[0];
  EXPECT_EQ(change.kind, storage::ChangeKind::kRouterTrained);
  EXPECT_EQ(change.loop, storage::LearningLoop::kBackground);
  EXPECT_TRUE(change.on_demand);
  EXPECT_EQ(SetPaused(false).router.version, 1u);
  const auto undone = Undo(storage::TokenOf(change));
  ASSERT_TRUE(undone.ok()) << undone.status();
  EXPECT_EQ(SetPaused(false).router.version, 0u);
}

TEST_F(LearningActorTest, ARouterIsTrainedOnceItIsDueAlsoWhereNothingWasLiked) {
  StartWithRouter(70);
  for (float& rating : ratings_) {
    rating = 0.1F;
  }
  RateServed(0, learning::RouterLearner::kNewOutcomes - 1);
  PassTheAgeOfARound();
  EXPECT_EQ(SetPaused(false).router.waiting, learning::RouterLearner::kNewOutcomes - 1);
  RateServed(learning::RouterLearner::kNewOutcomes - 1, 1);
  PassTheAgeOfARound();
  const learning::RouterStatus status = SetPaused(false).router;
  EXPECT_EQ(status.waiting, 0u);
  ASSERT_TRUE(status.last.has_value());
  EXPECT_EQ(status.last->outcomes, learning::RouterLearner::kNewOutcomes);
}

TEST_F(LearningActorTest, APausedNodeTrainsNoRouter) {
  StartWithRouter(70);
  SetPaused(true);
  RateServed(0, 70);
  PassTheAgeOfARound();
  EXPECT_FALSE(SetPaused(true).router.last.has_value());
  EXPECT_EQ(SetPaused(true).router.waiting, 70u);
}

}  // namespace
}  // namespace ruvd::actors
