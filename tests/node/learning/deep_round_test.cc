// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a deep round learns, publishes and leaves unchanged, and that a kill loses nothing.

#include "node/learning/deep_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/actors/deep_actor.h"
#include "node/learning/learning_undo.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/reasons.h"
#include "tests/node/deep_round_fixture.h"

namespace ruvd::learning {
namespace {

constexpr size_t kDeepLessons = kDeepTestLessons;
constexpr char kFolderVariable[] = "RUVD_DEEP_ROUND_TEST_FOLDER";
constexpr char kToldFile[] = "two-steps-are-saved";
constexpr int kStepsOfChild = 60;

class DeepRoundTest : public DeepRoundFixture {
 protected:
  uint64_t StepOfCheckpoint() const {
    const auto checkpoint = ReadDeepCheckpoint(*state_);
    if (!checkpoint.ok() || !checkpoint->has_value()) {
      return 0;
    }
    const auto state = inference::train::DecodeRunState(AsBytes((*checkpoint)->run));
    return state.ok() ? state->step : 0;
  }
  // What the process does that is killed: it trains in the folder of the test that kills it.
  void TrainUntilKilled(const std::filesystem::path& folder) {
    shared_folder_ = folder;
    Open();
    // Only one process at a time opens a store, so a file says how far this one is.
    cancelled_ = [this, told = false]() mutable {
      clock_.Advance(Duration(1));
      if (!told && StepOfCheckpoint() >= 2) {
        told = WriteFileAtomically((shared_folder_ / kToldFile).string(), "").ok();
      }
      return false;
    };
    const auto round = Begin(5);
    EXPECT_TRUE(round->Work(std::chrono::hours(1)).ok());
  }
};

TEST_F(DeepRoundTest, WhatHelpsBecomesAVersionForAllRequests) {
  const DeepResult result = Run();
  ASSERT_EQ(result.outcome, DeepOutcome::kPublished);
  EXPECT_EQ(result.version, 1u);
  EXPECT_EQ(result.lessons, kDeepLessons - kDeepLessons / 4);
  EXPECT_EQ(result.held_back, kDeepLessons / 4);
  EXPECT_EQ(result.steps, 6u);
  EXPECT_GT(result.held_out_before - result.held_out_after, result.standard_error);
  EXPECT_LE(result.general_after, 1.005 * result.general_before);
  ASSERT_TRUE(result.change.has_value());
  EXPECT_EQ(result.change->kind, storage::ChangeKind::kAdapterPublished);
  const auto chosen = catalog_->Choose({});
  ASSERT_EQ(chosen->size(), 1u);
  EXPECT_EQ(chosen->front().weight, 1.0F);
  const Digest id = ServedId();
  catalog_ = MakeCatalog();
  catalog_->LoadLearned();
  EXPECT_EQ(ServedId(), id);
  EXPECT_EQ(catalog_->Choose({})->size(), 1u);
  EXPECT_FALSE(HasCheckpoint());
}

TEST_F(DeepRoundTest, TheNextVersionBeginsFromTheServedOneAndUndoServesThatAgain) {
  ASSERT_EQ(Run().outcome, DeepOutcome::kPublished);
  const Digest first = ServedId();
  const DeepResult second = Run(2);
  ASSERT_EQ(second.outcome, DeepOutcome::kPublished);
  EXPECT_EQ(second.version, 2u);
  EXPECT_EQ(second.change->version_before, 1u);
  EXPECT_NE(ServedId(), first);
  const UndoServices undo{.clock = &clock_,
                          .changes = changes_.get(),
                          .patterns = patterns_.get(),
                          .trajectories = trajectories_.get(),
                          .withdraw = [&](const storage::LearningChange& change) {
                            return actors::WithdrawDeep(*catalog_, change);
                          }};
  ASSERT_TRUE(UndoChange(undo, *second.change).ok());
  EXPECT_EQ(ServedId(), first);
  catalog_ = MakeCatalog();
  catalog_->LoadLearned();
  EXPECT_EQ(ServedId(), first) << "also after a restart";
  EXPECT_EQ(Run(3).version, 3u) << "ratings name versions: none is given twice";
}

TEST_F(DeepRoundTest, AVersionThatSomebodyUnloadedCannotBeUndone) {
  const DeepResult result = Run();
  ASSERT_TRUE(result.change.has_value());
  ASSERT_TRUE(catalog_->Unload(serving::kDeepAdapter, 1).ok());
  EXPECT_EQ(ReasonOf(actors::WithdrawDeep(*catalog_, *result.change)), reasons::kCannotUndo);
}

// Regression test: pauses that came more often than every tenth step kept a round at step 0 for
// ever.
TEST_F(DeepRoundTest, ARoundThatIsCancelledBetweenCheckpointsKeepsItsSteps) {
  options_.checkpoint_every = 1000;
  {
    const DeepRound* begun = nullptr;
    cancelled_ = [&] { return begun != nullptr && begun->step() >= 3; };
    const auto round = Begin(5);
    begun = round.get();
    EXPECT_TRUE(absl::IsCancelled(round->Work(std::chrono::hours(1)).status()));
  }
  cancelled_ = nullptr;
  EXPECT_GE(Run(99).resumed_at, 3u);
}

TEST_F(DeepRoundTest, ARoundThatWasInterruptedGoesOnBitForBit) {
  {
    const auto round = Begin(5);
    while (round->step() < 3) {
      ASSERT_FALSE(round->Work(Duration(1)).value());
    }
  }
  const DeepResult result = Run(99);
  ASSERT_EQ(result.outcome, DeepOutcome::kPublished);
  EXPECT_EQ(result.resumed_at, 3u);
  const Digest id = ServedId();
  const DeepResult whole = RunAnew(result, 5);
  EXPECT_EQ(whole.resumed_at, 0u);
  EXPECT_EQ(ServedId(), id);
}

// The test runs itself in a second process, whose environment names the folder of the first.
TEST_F(DeepRoundTest, AProcessThatIsKilledCostsNothing) {
  options_.steps = kStepsOfChild;
  Close();
  if (const char* const folder = std::getenv(kFolderVariable); folder != nullptr) {
    TrainUntilKilled(folder);
    return;
  }
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::setenv(kFolderVariable, folder_.c_str(), 1);
    ::execl("/proc/self/exe", "learning_tests",
            "--gtest_filter=DeepRoundTest.AProcessThatIsKilledCostsNothing", nullptr);
    ::_exit(1);
  }
  int status = 0;
  while (!std::filesystem::exists(folder_ / kToldFile)) {
    ASSERT_EQ(::waitpid(child, &status, WNOHANG), 0) << "the child ended by itself";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it was faster than the test";
  Open();
  const DeepResult result = Run(77);
  EXPECT_GE(result.resumed_at, 2u);
  EXPECT_LT(result.resumed_at, static_cast<uint64_t>(kStepsOfChild));
  const DeepResult whole = RunAnew(result, 5);
  EXPECT_EQ(whole.resumed_at, 0u);
  EXPECT_EQ(whole.outcome, result.outcome);
  EXPECT_EQ(whole.held_out_after, result.held_out_after);
}

TEST_F(DeepRoundTest, WhereItsLessonsChangedAnInterruptedRoundBeginsAnew) {
  {
    const auto round = Begin();
    ASSERT_TRUE(round->Work(Duration(1)).ok());
  }
  for (size_t i = 0; i < kDeepLessons; ++i) {
    ASSERT_TRUE(trajectories_
                    ->SetFeedback(fmt::format("lesson {:02}", i),
                                  {.edited_text = " slept through the whole winter again."})
                    .ok());
  }
  EXPECT_EQ(Run().resumed_at, 0u);
  {
    const auto round = Begin();
    ASSERT_TRUE(round->Work(Duration(1)).ok());
  }
  DamageState(storage::state::DeepCheckpoint());
  EXPECT_EQ(Run().resumed_at, 0u) << "a damaged file is not used";
}

TEST_F(DeepRoundTest, FewLessonsTeachNothing) {
  options_.least_lessons = kDeepLessons + 1;
  EXPECT_EQ(Run().outcome, DeepOutcome::kTooFewLessons);
  EXPECT_TRUE(catalog_->List().empty());
  EXPECT_FALSE(HasCheckpoint());
}

TEST_F(DeepRoundTest, WhatGainsNothingIsNotPublished) {
  options_.learning_rate = 1e-12;
  options_.steps = 1;
  const DeepResult result = Run();
  EXPECT_EQ(result.outcome, DeepOutcome::kNoImprovement);
  EXPECT_TRUE(catalog_->List().empty());
  EXPECT_EQ(changes_->size(), 0u);
}

// Found by review: undoing a version served the highest version that was left, even one that an
// operator had rolled back.
TEST_F(DeepRoundTest, UndoServesWhatWasServedBefore) {
  ASSERT_EQ(Run().outcome, DeepOutcome::kPublished);
  const Digest first = ServedId();
  ASSERT_EQ(Run(2).outcome, DeepOutcome::kPublished);
  ASSERT_TRUE(catalog_->Rollback(serving::kDeepAdapter, 1).ok());
  const DeepResult third = Run(3);
  ASSERT_EQ(third.outcome, DeepOutcome::kPublished);
  EXPECT_EQ(third.change->version_before, 1u);
  ASSERT_TRUE(actors::WithdrawDeep(*catalog_, *third.change).ok());
  EXPECT_EQ(ServedId(), first);
}

// Found by review: the version above it contains all that it learned.
TEST_F(DeepRoundTest, AVersionBeneathAServedOneIsNotUndone) {
  const DeepResult first = Run();
  ASSERT_EQ(Run(2).outcome, DeepOutcome::kPublished);
  const absl::Status refused = actors::WithdrawDeep(*catalog_, *first.change);
  EXPECT_EQ(ReasonOf(refused), reasons::kCannotUndo);
  EXPECT_EQ(serving::ServedDeepVersion(*catalog_), 2u);
  EXPECT_TRUE(catalog_->Find(serving::kDeepAdapter, 1).ok());
}

TEST_F(DeepRoundTest, AVersionHasTheWordsOfItsLessons) {
  const DeepResult result = Run();
  ASSERT_EQ(result.outcome, DeepOutcome::kPublished);
  const inference::TokenId word = model_->tokenizer().EncodeContinuation(" ships").front();
  for (int start = 0; start < 2; ++start) {
    const auto served = catalog_->Find(serving::kDeepAdapter, std::nullopt);
    ASSERT_TRUE(served.ok()) << served.status();
    ASSERT_TRUE(served->adapter->words.has_value());
    EXPECT_EQ(served->adapter->words->lessons, result.lessons);
    EXPECT_THAT(served->adapter->words->counts, ::testing::Contains(inference::LessonWords::Count{
                                                    .token = word, .lessons = result.lessons}));
    catalog_ = MakeCatalog();
    catalog_->LoadLearned();
  }
}

TEST_F(DeepRoundTest, TheNextVersionHasTheWordsOfTheOneBefore) {
  const DeepResult first = Run();
  ASSERT_EQ(first.outcome, DeepOutcome::kPublished);
  const DeepResult second = Run(2);
  ASSERT_EQ(second.outcome, DeepOutcome::kPublished);
  EXPECT_EQ(catalog_->Find(serving::kDeepAdapter, std::nullopt)->adapter->words->lessons,
            first.lessons + second.lessons);
}

// A version of another rank starts from zero, so what the one before learned is not in it.
TEST_F(DeepRoundTest, AVersionThatStartsFromZeroHasTheWordsOfItsOwnLessonsOnly) {
  options_.steps = 2;
  ASSERT_EQ(Run().outcome, DeepOutcome::kPublished);
  options_.steps = 12;
  options_.rank = 3;
  const DeepResult second = Run(2);
  ASSERT_EQ(second.outcome, DeepOutcome::kPublished);
  EXPECT_EQ(catalog_->Find(serving::kDeepAdapter, std::nullopt)->adapter->words->lessons,
            second.lessons);
}

TEST_F(DeepRoundTest, WordsDecideWhereAVersionActs) {
  public_log_frequency_.assign(static_cast<size_t>(model_->config().vocabulary), -6.0F);
  catalog_ = MakeCatalog();
  ASSERT_EQ(Run().outcome, DeepOutcome::kPublished);
  const std::vector<serving::RangedPart> parts = catalog_->Choose({}).value();
  ASSERT_EQ(parts.size(), 1u);
  ASSERT_NE(parts[0].evidence, nullptr);
  const std::vector<serving::AdapterChoice> named = {{.name = serving::kDeepAdapter}};
  EXPECT_EQ(catalog_->Choose(named)->front().evidence, nullptr) << "a choice decides alone";
}

// Overfitting: the lessons gain, everything else loses.
TEST_F(DeepRoundTest, WhatHarmsGeneralTextIsNotPublished) {
  options_.learning_rate = 0.05;
  options_.steps = 12;
  const DeepResult result = Run();
  EXPECT_EQ(result.outcome, DeepOutcome::kWorseGeneralText);
  EXPECT_GT(result.general_after, 1.005 * result.general_before);
  EXPECT_TRUE(catalog_->List().empty());
}

TEST_F(DeepRoundTest, AUserWhoIsErasedWhileItTrainsTeachesNothing) {
  AddLesson("hers", "alice");
  const auto round = Begin();
  ASSERT_TRUE(round->Work(std::chrono::hours(1)).ok());
  ASSERT_TRUE(database_->Erase(storage::KeyScope::User("alice")).ok());
  const auto result = round->Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome, DeepOutcome::kErased);
  EXPECT_TRUE(catalog_->List().empty());
}

TEST_F(DeepRoundTest, AStopBetweenSlicesKeepsTheCheckpoint) {
  int polls = 0;
  cancelled_ = [&] { return ++polls > 40; };
  const auto round = Begin();
  EXPECT_TRUE(absl::IsCancelled(round->Work(std::chrono::hours(1)).status()));
  EXPECT_TRUE(HasCheckpoint());
}

// Regression test: the round was given up as "erased", although no user had been erased.
TEST_F(DeepRoundTest, ALessonOfNobodyThatNewerOnesDisplacedCostsNothing) {
  const auto round = Begin();
  ASSERT_TRUE(round->Work(std::chrono::hours(1)).ok());
  const auto small =
      storage::TrajectoryStore::Open(*database_, {.feedback_capacity = kDeepLessons}).value();
  ASSERT_TRUE(
      small->Put({.response_id = "newer", .created_ms = clock_.WallMillis(), .rating = 1}).ok());
  ASSERT_TRUE(absl::IsNotFound(trajectories_->Get("lesson 00").status()));
  EXPECT_EQ(round->Finish()->outcome, DeepOutcome::kPublished);
}

// Regression test: what was taken back returned with the version that had begun from it.
TEST_F(DeepRoundTest, ARoundWhoseBaseIsTakenBackMeanwhileIsNotPublished) {
  const DeepResult first = Run();
  ASSERT_EQ(first.outcome, DeepOutcome::kPublished);
  const auto round = Begin(2);
  ASSERT_TRUE(round->Work(std::chrono::hours(1)).ok());
  ASSERT_TRUE(actors::WithdrawDeep(*catalog_, *first.change).ok());
  EXPECT_EQ(round->Finish()->outcome, DeepOutcome::kBaseChanged);
  EXPECT_TRUE(catalog_->List().empty());
}

TEST_F(DeepRoundTest, AnInterruptedRoundWhoseBaseWasTakenBackBeginsAnew) {
  const DeepResult first = Run();
  ASSERT_EQ(first.outcome, DeepOutcome::kPublished);
  {
    const auto round = Begin(2);
    ASSERT_TRUE(round->Work(Duration(1)).ok());
  }
  ASSERT_TRUE(actors::WithdrawDeep(*catalog_, *first.change).ok());
  const DeepResult next = Run(3);
  EXPECT_EQ(next.resumed_at, 0u);
  EXPECT_EQ(next.outcome, DeepOutcome::kPublished);
}

// Regression test: every later round continued from that checkpoint and failed, because its version
// existed already.
TEST_F(DeepRoundTest, AKillAfterPublishingStopsNoLaterRound) {
  const auto round = Begin();
  ASSERT_TRUE(round->Work(std::chrono::hours(1)).ok());
  const DeepCheckpoint left = ReadDeepCheckpoint(*state_)->value();
  ASSERT_EQ(round->Finish()->outcome, DeepOutcome::kPublished);
  ASSERT_TRUE(WriteDeepCheckpoint(*state_, left).ok());
  const DeepResult next = Run(2);
  EXPECT_EQ(next.resumed_at, 0u);
  EXPECT_EQ(next.version, 2u);
}

// Regression test: the next round continued from the checkpoint and diverged again, for ever.
TEST_F(DeepRoundTest, ARoundThatDivergesLeavesNoCheckpoint) {
  options_.learning_rate = 1e30;
  const auto round = Begin();
  EXPECT_TRUE(absl::IsInternal(round->Work(std::chrono::hours(1)).status()));
  EXPECT_FALSE(HasCheckpoint());
}

TEST(DeepCheckpointTest, TooManyOrTooLongLessonsAreRefused) {
  const DeepCheckpoint checkpoint{
      .seed = 1, .version = 2, .base = 1, .taught = {"a", "b"}, .held_back = {"c"}, .run = "state"};
  EXPECT_EQ(FromStored(ToStored(checkpoint)).value(), checkpoint);
  DeepCheckpoint many = checkpoint;
  many.taught.assign(limits::kMaxDeepLessons + 1, "a");
  EXPECT_FALSE(FromStored(ToStored(many)).ok());
  DeepCheckpoint long_id = checkpoint;
  long_id.held_back = {std::string(limits::kMaxResponseIdBytes + 1, 'a')};
  EXPECT_FALSE(FromStored(ToStored(long_id)).ok());
}

}  // namespace
}  // namespace ruvd::learning
