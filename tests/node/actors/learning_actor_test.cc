// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which feedback a start finds that no round has taken.

#include "node/actors/learning_actor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/limits.h"
#include "storage/reasons.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"
#include "tests/node/router_world.h"

namespace ruvd::actors {
namespace {

constexpr int kCallsBeforePatternsAreRead = 2;

class LearningActorTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    metrics_ = metrics::Metrics::Create("").value();
    const auto width = static_cast<uint32_t>(model_->config().width);
    embedding_.assign(width, 1 / std::sqrt(static_cast<float>(width)));
    other_ = embedding_;  // orthogonal to the former
    for (size_t i = 0; i < other_.size(); i += 2) {
      other_[i] = -other_[i];
    }
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = width}).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    answers_ = storage::FeedbackAnswerStore::Open(*database_).value();
    AddResponse("r", embedding_);
    Start();
  }
  void AddResponse(const std::string& id, const std::vector<float>& embedding) {
    ASSERT_TRUE(trajectories_
                    ->Put({.response_id = id,
                           .session_id = "session",
                           .prompt = "The lighthouse keeper",
                           .completion = " counted the ships every evening.",
                           .embedding = embedding,
                           .embedded_by = std::string(AsText(package_)),
                           .created_ms = clock_.WallMillis()})
                    .ok());
  }
  // Keeps the commits of a response, so that its session may learn from them.
  void KeepCommits(const std::string& id) {
    serving::InstantTrail trail{.session = {"", "session"}, .commits = inference::CommitTrail(1)};
    const std::array<float, 1> hidden = {1};
    const std::array<inference::TokenProbability, 1> candidates = {{{inference::TokenId{1}, 0.5F}}};
    trail.commits.Add(0, inference::TokenId{1}, 0.5F, hidden, candidates);
    instant_->StoreTrail(id, std::move(trail));
  }
  // Starts the actor as a node does.
  void Start() {
    instant_ = std::make_unique<serving::InstantLoop>(
        serving::InstantLoopOptions{.clock = &executor_.clock()});
    system_ = std::make_unique<runtime::ActorSystem>(executor_, runtime::ActorSystemOptions{});
    LearningActorOptions options{
        .services = {.clock = &executor_.clock(),
                     .transformer = transformer_.get(),
                     .trajectories = trajectories_.get(),
                     .patterns = patterns_.get(),
                     .package_id = package_,
                     .changes = changes_.get(),
                     .cancelled =
                         [this, calls = 0]() mutable {
                           if (++calls > kCallsBeforePatternsAreRead && on_training_) {
                             std::exchange(on_training_, nullptr)();
                           }
                           return false;
                         }},
        .round = {.steps = 3, .min_improvement = -100},
        .enabled = enabled_,
        .disabled_because = "the model has no mask token",
        .round_after_age = std::chrono::seconds(60),
        .pool = &executor_,
        .metrics = metrics_.get(),
        .answers = answers_.get(),
        .instant = instant_.get(),
        .router = router_learner_.get(),
        .on_pattern = [this](const storage::PatternId& id) { learned_.push_back(id); },
    };
    learning_ = StartLearningActor(*system_, options);
    executor_.RunFor(std::chrono::seconds(1));
  }
  learning::FeedbackAnswer Accept() { return Submit({.response_id = "r", .accepted = true}); }
  learning::FeedbackAnswer Submit(const learning::Feedback& feedback) {
    absl::StatusOr<learning::FeedbackAnswer> answer = absl::UnknownError("no answer");
    EXPECT_TRUE(
        learning_
            ->Submit(feedback,
                     [&](absl::StatusOr<learning::FeedbackAnswer> given) { answer = given; })
            .ok());
    executor_.RunFor(std::chrono::seconds(1));
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(learning::FeedbackAnswer{});
  }
  learning::LearningStatus SetPaused(bool paused) {
    absl::StatusOr<learning::LearningStatus> status = absl::UnknownError("no answer");
    learning_->SetPaused(paused,
                         [&](absl::StatusOr<learning::LearningStatus> given) { status = given; });
    executor_.RunFor(std::chrono::seconds(1));
    EXPECT_TRUE(status.ok()) << status.status();
    return status.value_or(learning::LearningStatus{});
  }
  absl::StatusOr<learning::BackgroundRoundSummary> RunComputeRound(bool replay) {
    absl::StatusOr<learning::BackgroundRoundSummary> summary = absl::UnknownError("no answer");
    learning_->RunBackground(
        replay, [&](absl::StatusOr<learning::BackgroundRoundSummary> given) { summary = given; });
    executor_.RunFor(std::chrono::seconds(1));
    return summary;
  }
  absl::StatusOr<storage::LearningChange> Undo(const std::string& token) {
    absl::StatusOr<storage::LearningChange> change = absl::UnknownError("no answer");
    learning_->Undo(token, [&](absl::StatusOr<storage::LearningChange> given) { change = given; });
    executor_.RunFor(std::chrono::seconds(1));
    return change;
  }
  std::vector<storage::LearningChange> ListChanges() {
    absl::StatusOr<std::vector<storage::LearningChange>> list = absl::UnknownError("no answer");
    learning_->ListChanges(
        10, [&](absl::StatusOr<std::vector<storage::LearningChange>> given) { list = given; });
    executor_.RunFor(std::chrono::seconds(1));
    EXPECT_TRUE(list.ok()) << list.status();
    return list.value_or(std::vector<storage::LearningChange>{});
  }
  // Starts the actor with a router that learns, and with requests that it chose for.
  void StartWithRouter(int served) {
    system_.reset();
    router_ = std::make_unique<serving::RequestRouter>(
        serving::RequestRouterOptions{.exploration = 0.2, .seed = 1});
    router_learner_ =
        learning::RouterLearner::Open(
            {.router = router_.get(), .state = &state_.emplace(*database_)}, *trajectories_)
            .value();
    test::RouterWorld world(1);
    for (int i = 0; i < served; ++i) {
      storage::Trajectory trajectory = world.Serve(*router_, fmt::format("served-{}", i));
      ratings_.push_back(*std::exchange(trajectory.rating, std::nullopt));
      ASSERT_TRUE(trajectories_->Put(trajectory).ok());
    }
    Start();
  }
  void RateServed(size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      Submit({.response_id = fmt::format("served-{}", i), .rating = ratings_.at(i)});
    }
  }
  void PassTheAgeOfARound() { executor_.RunFor(std::chrono::seconds(200)); }

  SimExecutor executor_{1};
  bool enabled_ = true;
  Digest package_ = Sha256("package");
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<metrics::Metrics> metrics_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::unique_ptr<storage::FeedbackAnswerStore> answers_;
  std::unique_ptr<serving::InstantLoop> instant_;
  std::unique_ptr<serving::RequestRouter> router_;
  std::optional<storage::StateStore> state_;
  std::unique_ptr<learning::RouterLearner> router_learner_;
  std::unique_ptr<runtime::ActorSystem> system_;
  std::unique_ptr<learning::LearningActor> learning_;
  std::vector<float> embedding_;
  std::vector<float> other_;
  std::vector<storage::PatternId> learned_;
  std::vector<float> ratings_;
  std::function<void()> on_training_;
};

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
  EXPECT_TRUE(absl::IsNotFound(Undo("").status())) << "nothing is left";
}

TEST_F(LearningActorTest, TheLastChangeIsUndoneWithoutAToken) {
  ASSERT_TRUE(Accept().learned);
  ASSERT_TRUE(Undo("").ok());
  EXPECT_EQ(patterns_->size(), 0u);
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
  const storage::LearningChange merge = *changes_->Last();
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

// Regression test: what a session had been taught stayed the last change for ever once the session
// was idle.
TEST_F(LearningActorTest, TheLastChangeIsUndoneThoughASessionForgotANewerOne) {
  ASSERT_TRUE(Accept().learned);
  AddResponse("s", other_);
  KeepCommits("s");
  ASSERT_EQ(Submit({.response_id = "s", .rating = 0.0F}).changes.size(), 1u);
  EXPECT_FALSE(ListChanges()[0].forgotten);
  executor_.RunFor(2 * limits::kInstantIdle);
  ASSERT_EQ(ListChanges()[0].kind, storage::ChangeKind::kSessionTaught);
  EXPECT_TRUE(ListChanges()[0].forgotten);
  const auto undone = Undo("");
  ASSERT_TRUE(undone.ok()) << undone.status();
  EXPECT_EQ(undone->kind, storage::ChangeKind::kPatternStored);
  EXPECT_EQ(ReasonOf(Undo("").status()), reasons::kCannotUndo) << "the session's is left";
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
