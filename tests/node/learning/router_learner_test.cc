// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the router of a node across versions, restarts and undos.

#include "node/learning/router_learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/status.h"
#include "inference/router/limits.h"
#include "node/learning/learning_undo.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/reasons.h"
#include "tests/node/database_fixture.h"
#include "tests/node/router_world.h"

namespace ruvd::learning {
namespace {

using test::RouterWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kMinRating = 0.7F;

class RouterLearnerTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    services_.trajectories = trajectories_.get();
    services_.changes = changes_.get();
    state_ = std::make_unique<storage::StateStore>(*database_);
    ASSERT_TRUE(Start().ok());
  }
  bool Stores(uint32_t version) const { return HasState(storage::state::StoredRouter(version)); }
  absl::Status Start(inference::ScorerKind kind = inference::ScorerKind::kLogistic) {
    learner_.reset();
    router_ = std::make_unique<serving::RequestRouter>(
        serving::RequestRouterOptions{.kind = kind, .exploration = 0.2, .seed = 1});
    auto learner = RouterLearner::Open(
        {.router = router_.get(), .state = state_.get(), .value = 10, .min_rating = kMinRating},
        *trajectories_);
    RETURN_IF_ERROR(learner.status());
    learner_ = *std::move(learner);
    return absl::OkStatus();
  }
  // Serves and rates requests.
  void Serve(int count) {
    for (int i = 0; i < count; ++i) {
      storage::Trajectory trajectory = world_.Serve(*router_, "r" + std::to_string(served_++));
      trajectory.created_ms = clock_.WallMillis();
      clock_.Advance(std::chrono::milliseconds(1));
      ASSERT_TRUE(trajectories_->Put(trajectory).ok());
      learner_->OnFeedback(trajectory);
    }
  }
  RouterRound Train() {
    const auto round = learner_->Train(services_, random_);
    EXPECT_TRUE(round.ok()) << round.status();
    clock_.Advance(std::chrono::milliseconds(1));
    return round.value_or(RouterRound{});
  }
  absl::Status Undo(const storage::LearningChange& change) {
    return UndoChange({.clock = &clock_,
                       .changes = changes_.get(),
                       .trajectories = trajectories_.get(),
                       .router = learner_.get()},
                      change)
        .status();
  }
  // Returns for how many of some requests with long prompts the router chooses half of the steps.
  int HalfSteps() {
    int count = 0;
    for (int i = 0; i < 100; ++i) {
      const serving::RoutedRequest routed = router_->Choose(
          {.prompt_tokens = 400, .max_tokens = 32, .diffusion = true}, RouterWorld::Open());
      count +=
          !routed.decision.explored && routed.decision.route == serving::kRouteHalfSteps ? 1 : 0;
    }
    return count;
  }

  RouterWorld world_{1};
  Random random_{2};
  int served_ = 0;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::unique_ptr<storage::StateStore> state_;
  std::unique_ptr<serving::RequestRouter> router_;
  std::unique_ptr<RouterLearner> learner_;
  LearningServices services_{.clock = &clock_};
};

TEST_F(RouterLearnerTest, ATrainingIsDueAfterEnoughOutcomesAlsoOverARestart) {
  Serve(RouterLearner::kNewOutcomes - 1);
  EXPECT_FALSE(learner_->due());
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(learner_->status().waiting, RouterLearner::kNewOutcomes - 1);
  storage::Trajectory unrated = world_.Serve(*router_, "unrated");
  unrated.rating.reset();
  learner_->OnFeedback(unrated);
  EXPECT_FALSE(learner_->due());
  Serve(1);
  EXPECT_TRUE(learner_->due());
  EXPECT_EQ(Train().verdict, RouterVerdict::kTooFewOutcomes);
  EXPECT_FALSE(learner_->due()) << "not before there are new ones";
  EXPECT_EQ(HalfSteps(), 0);
}

TEST_F(RouterLearnerTest, WhatWasLearnedChoosesAtOnceAndAfterARestart) {
  Serve(1200);
  EXPECT_EQ(HalfSteps(), 0);
  const RouterRound round = Train();
  ASSERT_EQ(round.verdict, RouterVerdict::kPublished) << round.gain;
  ASSERT_TRUE(round.change.has_value());
  EXPECT_EQ(round.change->version, 1u);
  EXPECT_EQ(round.change->version_before, 0u);
  EXPECT_EQ(round.change->lessons, 1200u);
  EXPECT_EQ(changes_->List(1)->at(0), *round.change);
  EXPECT_GT(HalfSteps(), 60);
  const RouterStatus status = learner_->status();
  EXPECT_EQ(status.kind, "logistic");
  EXPECT_EQ(status.version, 1u);
  EXPECT_EQ(status.waiting, 0u);
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(learner_->status().version, 1u);
  EXPECT_EQ(learner_->status().outcomes, 1200u);
  EXPECT_EQ(learner_->status().waiting, 0u);
  EXPECT_GT(HalfSteps(), 60);
}

TEST_F(RouterLearnerTest, AnUndoLetsTheFormerVersionChooseForGood) {
  Serve(1200);
  const storage::LearningChange first = Train().change.value();
  Serve(100);
  EXPECT_EQ(Train().verdict, RouterVerdict::kNoGain) << "it is no better than the first";
  EXPECT_EQ(learner_->status().version, 1u);
  world_.Change();
  Serve(6000);
  const storage::LearningChange second = Train().change.value();
  EXPECT_EQ(second.version, 2u);
  ASSERT_TRUE(Undo(second).ok());
  EXPECT_EQ(learner_->status().version, 1u);
  EXPECT_EQ(ReasonOf(Undo(second)), reasons::kCannotUndo) << "its file is gone";
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(learner_->status().version, 1u);
  ASSERT_TRUE(Undo(first).ok());
  EXPECT_EQ(learner_->status().version, 0u);
  EXPECT_EQ(HalfSteps(), 0);
  Serve(6000);
  EXPECT_EQ(Train().change.value().version, 3u) << "no number is given twice";
}

// Regression test: the router was trained again on the same outcomes and came back.
TEST_F(RouterLearnerTest, AnUndoneRouterIsNotBackWithoutNewFeedback) {
  Serve(1200);
  ASSERT_TRUE(Undo(Train().change.value()).ok());
  EXPECT_EQ(learner_->status().waiting, 0u);
  EXPECT_EQ(Train().outcomes, 0u) << "an operator asks for a round";
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(learner_->status().waiting, 0u);
  EXPECT_EQ(Train().outcomes, 0u);
  EXPECT_EQ(learner_->status().version, 0u);
  Serve(70);
  EXPECT_EQ(learner_->status().waiting, 70u);
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(learner_->status().waiting, 70u);
  EXPECT_EQ(Train().outcomes, 70u);
}

TEST_F(RouterLearnerTest, ATrainingUnderWayDoesNotBringAnUndoneRouterBack) {
  Serve(1200);
  const storage::LearningChange change = Train().change.value();
  world_.Change();
  Serve(6000);
  bool undone = false;
  services_.cancelled = [&] {
    if (!std::exchange(undone, true)) {
      EXPECT_TRUE(learner_->Withdraw(change, clock_.WallMillis()).ok());
    }
    return false;
  };
  EXPECT_TRUE(absl::IsCancelled(learner_->Train(services_, random_).status()));
  EXPECT_TRUE(undone);
  EXPECT_EQ(learner_->status().version, 0u);
  EXPECT_FALSE(learner_->due());
}

// Regression test: the file was gone, but the change stayed and the router continued to choose.
TEST_F(RouterLearnerTest, AnUndoBesideADamagedFileLeavesNoRouter) {
  Serve(1200);
  ASSERT_EQ(Train().verdict, RouterVerdict::kPublished);
  world_.Change();
  Serve(6000);
  const storage::LearningChange second = Train().change.value();
  DamageState(storage::state::StoredRouter(1));
  ASSERT_TRUE(Undo(second).ok());
  EXPECT_EQ(learner_->status().version, 0u);
  EXPECT_EQ(HalfSteps(), 0);
}

TEST_F(RouterLearnerTest, ARouterThatOutcomesSpeakAgainstIsTakenBack) {
  serving::RouterFiles files(*state_, {});
  ASSERT_TRUE(files
                  .Write(1, {.trained_ms = 0,
                             .outcomes = 9,
                             .router = test::RouterThatTakes(serving::kRouteHalfSteps)})
                  .ok());
  ASSERT_TRUE(Start().ok());
  EXPECT_GT(HalfSteps(), 60);
  world_.Change();
  services_.changes = changes_.get();
  RouterRound round;
  for (int looks = 0; looks < 40 && !round.change; ++looks) {
    Serve(64);
    round = Train();
  }
  ASSERT_TRUE(round.change.has_value());
  EXPECT_EQ(round.change->version_before, 1u);
  EXPECT_EQ(changes_->List(1)->at(0), *round.change);
  EXPECT_EQ(HalfSteps(), 0);
  if (round.verdict == RouterVerdict::kWithdrawn) {
    EXPECT_EQ(round.change->version, 0u);
    EXPECT_LT(round.gain, 0);
    EXPECT_EQ(ReasonOf(Undo(*round.change)), reasons::kCannotUndo);
    ASSERT_TRUE(Start().ok());
    EXPECT_EQ(learner_->status().version, 0u);
  }
  EXPECT_EQ(round.verdict, RouterVerdict::kWithdrawn);
}

// Regression test: waiting was counted from the last version's training, so each start trained
// again.
TEST_F(RouterLearnerTest, LessonsOfAVersionlessTrainingDoNotWaitAfterARestart) {
  Serve(RouterLearner::kNewOutcomes);
  EXPECT_EQ(Train().verdict, RouterVerdict::kTooFewOutcomes);
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(learner_->status().waiting, 0u);
  Serve(3);
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(learner_->status().waiting, 3u);
}

TEST_F(RouterLearnerTest, ACompletionThatIsRatedTwiceCountsOnce) {
  const storage::Trajectory rated = world_.Serve(*router_, "r");
  learner_->OnFeedback(rated);
  learner_->OnFeedback(rated);
  EXPECT_EQ(learner_->status().waiting, 1u);
}

TEST_F(RouterLearnerTest, ADamagedTrainingStateIsRefused) {
  const serving::RouterTrainingState state{
      .kind = inference::ScorerKind::kCascade, .trained_ms = 7, .outcomes = 8, .counted_from = 9};
  EXPECT_EQ(serving::FromStored(serving::ToStored(state)).value(), state);
  storage::v1::RouterTrainingState damaged = serving::ToStored(state);
  damaged.set_scorer_kind(200);
  EXPECT_TRUE(absl::IsInvalidArgument(serving::FromStored(damaged).status()));
  damaged = serving::ToStored(state);
  damaged.set_trained_ms(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(serving::FromStored(damaged).status()));
  damaged = serving::ToStored(state);
  damaged.set_counted_from_ms(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(serving::FromStored(damaged).status()));
  DamageState(storage::state::RouterTrainingState());
  EXPECT_THAT(MessageOf(Start()), HasSubstr("training state of the router"));
}

TEST_F(RouterLearnerTest, WithoutARouterItsTrainingIsNotUndone) {
  Serve(1200);
  const storage::LearningChange change = Train().change.value();
  learner_.reset();
  EXPECT_EQ(ReasonOf(Undo(change)), reasons::kCannotUndo);
  EXPECT_TRUE(Stores(1));
}

TEST_F(RouterLearnerTest, AVersionOfAnotherKindWaitsForItsConfiguration) {
  Serve(1200);
  ASSERT_EQ(Train().verdict, RouterVerdict::kPublished);
  ASSERT_TRUE(Start(inference::ScorerKind::kFastGrnn).ok());
  EXPECT_EQ(learner_->status().version, 0u);
  EXPECT_EQ(HalfSteps(), 0);
  EXPECT_EQ(learner_->status().waiting, 1200u) << "it learns from all of them";
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(learner_->status().version, 1u);
}

TEST_F(RouterLearnerTest, ADamagedVersionIsNamed) {
  Serve(1200);
  ASSERT_EQ(Train().verdict, RouterVerdict::kPublished);
  DamageState(storage::state::StoredRouter(1));
  const absl::Status damaged = Start();
  EXPECT_FALSE(damaged.ok());
  EXPECT_THAT(MessageOf(damaged), HasSubstr("version 1 of the router"));
  EXPECT_THAT(MessageOf(damaged), HasSubstr("restore the store"));
}

TEST_F(RouterLearnerTest, ATrainingThatIsNotWantedChangesNothing) {
  Serve(1200);
  services_.cancelled = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(learner_->Train(services_, random_).status()));
  EXPECT_TRUE(learner_->due()) << "its outcomes wait";
  EXPECT_EQ(changes_->size(), 0u);
  EXPECT_FALSE(Stores(1));
}

TEST_F(RouterLearnerTest, WhatAnErasedUserSaidIsNotLearnedFrom) {
  Serve(1200);
  storage::Trajectory hers = world_.Serve(*router_, "hers");
  hers.user_id = "ann";
  ASSERT_TRUE(trajectories_->Put(hers).ok());
  EXPECT_EQ(Train().outcomes, 1201u);
  ASSERT_TRUE(database_->Erase(storage::KeyScope::User("ann")).ok());
  ASSERT_TRUE(trajectories_->PurgeErased().ok());
  EXPECT_EQ(Train().outcomes, 1200u);
}

serving::StoredRouter AnyRouter() {
  Random random(1);
  std::shared_ptr<const inference::Scorer> scorer =
      inference::Scorer::Create(
          {.kind = inference::ScorerKind::kLogistic, .inputs = inference::kRouterFeatures}, random)
          .value();
  return {.trained_ms = 7,
          .outcomes = 9,
          .router = std::make_shared<const inference::Router>(
              inference::Router::Create({{.route = {.name = "as_asked"}, .scorer = scorer}}, {})
                  .value())};
}

TEST_F(RouterLearnerTest, ADamagedRouterIsRefused) {
  const storage::v1::StoredRouter stored = serving::ToStored(AnyRouter());
  const serving::StoredRouter back = serving::FromStored(stored, {}).value();
  EXPECT_EQ(back.trained_ms, 7);
  EXPECT_EQ(back.outcomes, 9u);
  EXPECT_EQ(serving::ToStored(back).SerializeAsString(), stored.SerializeAsString());
  storage::v1::StoredRouter damaged = stored;
  damaged.set_trained_ms(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(serving::FromStored(damaged, {}).status()));
  for (size_t size = 0; size < stored.router().size(); ++size) {
    damaged = stored;
    damaged.mutable_router()->resize(size);
    EXPECT_TRUE(absl::IsInvalidArgument(serving::FromStored(damaged, {}).status())) << size;
  }
}

TEST_F(RouterLearnerTest, OldVersionsMakePlace) {
  serving::RouterFiles files(*state_, {});
  for (uint32_t version = 1; version <= serving::RouterFiles::kKept + 2; ++version) {
    ASSERT_TRUE(files.Write(version, AnyRouter()).ok());
  }
  EXPECT_THAT(files.Versions().value(), ElementsAre(3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_TRUE(absl::IsNotFound(files.Remove(1)));
}

}  // namespace
}  // namespace ruvd::learning
