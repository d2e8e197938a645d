// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what the memory loop reads, in which order, and what it forgets.

#include "node/actors/memory_actor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/sim_executor.h"
#include "inference/memory/memory_parameters.h"
#include "inference/package/model_package.h"
#include "inference/transformer/cpu_transformer.h"
#include "storage/lessons/lesson_store.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd::actors {
namespace {

using testing::IsEmpty;

class MemoryActorTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    const auto width = static_cast<uint32_t>(model_->config().width);
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = width}).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    lessons_ = storage::LessonStore::Open(*database_).value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    kept_ = std::make_unique<storage::ObservedStore>(*database_);
  }
  // Starts the actor as a node does, and looks through the stores.
  void Start(size_t max_tokens = 100000) {
    memory_.reset();
    system_.reset();
    memories_ = std::make_unique<serving::LessonMemories>(
        std::make_shared<inference::MemoryParameters>(
            inference::MemoryParameters::Load(inference::MemoryPath(kSmallModel), model_->hash())
                .value()),
        max_tokens, executor_.clock());
    system_ = std::make_unique<runtime::ActorSystem>(executor_, runtime::ActorSystemOptions{});
    memory_ = StartMemoryActor(*system_, {.services = {.clock = &executor_.clock(),
                                                       .transformer = transformer_.get(),
                                                       .trajectories = trajectories_.get(),
                                                       .lessons = lessons_.get(),
                                                       .patterns = patterns_.get(),
                                                       .changes = changes_.get(),
                                                       .cancelled = [this] { return stops_; },
                                                       .between_slices =
                                                           [this](uint64_t) {
                                                             ++read_;
                                                             if (on_reading_) {
                                                               on_reading_();
                                                             }
                                                             return absl::OkStatus();
                                                           }},
                                          .max_tokens = max_tokens,
                                          .memories = memories_.get(),
                                          .kept = kept_.get(),
                                          .pool = &executor_});
    Run();
  }
  // Lets some ticks of the actor pass.
  void Run() { executor_.RunFor(std::chrono::seconds(5)); }
  void AddTexts(size_t count, const std::string& user = "") {
    for (size_t i = 0; i < count; ++i) {
      const std::string text = fmt::format(
          "In year {} the keeper of {} wrote the names of all ships into the book, and closed it.",
          ++number_, user);
      ASSERT_TRUE(lessons_
                      ->Add({.name = text,
                             .content_hash = Sha256(text),
                             .bytes = 1,
                             .user_id = user,
                             .created_ms = clock_.WallMillis()},
                            std::vector<storage::NewLesson>{{.prompt = "", .text = text}})
                      .ok());
    }
  }
  void Correct(const std::string& id, const std::string& text) {
    if (!trajectories_->Get(id).ok()) {
      ASSERT_TRUE(trajectories_
                      ->Put({.response_id = id,
                             .prompt = "The lighthouse keeper",
                             .completion = " slept.",
                             .created_ms = clock_.WallMillis()})
                      .ok());
    }
    ASSERT_TRUE(trajectories_->SetFeedback(id, {.edited_text = text}).ok());
    memory_->OnRated(id);
  }
  bool Holds(const std::string& name) const { return memories_->Names().contains(name); }
  size_t held() const { return memories_->Names().size(); }
  std::vector<std::string> Kept() const {
    std::vector<std::string> names;
    size_t damaged = 0;
    EXPECT_TRUE(kept_
                    ->ForEach(
                        [&](const storage::ObservedLesson& lesson) {
                          names.push_back(lesson.name);
                          return true;
                        },
                        &damaged)
                    .ok());
    EXPECT_EQ(damaged, 0U);
    return names;
  }

  SimExecutor executor_{1};
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::LessonStore> lessons_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::unique_ptr<storage::ObservedStore> kept_;
  std::unique_ptr<serving::LessonMemories> memories_;
  std::unique_ptr<runtime::ActorSystem> system_;
  std::unique_ptr<learning::MemoryActor> memory_;
  std::function<void()> on_reading_;  // called before a lesson is read
  size_t read_ = 0;                   // lessons that were read, this one included
  size_t number_ = 0;
  bool stops_ = false;
};

TEST_F(MemoryActorTest, ReadsWhatComesAndForgetsWhatGoes) {
  AddTexts(3);
  Start();
  EXPECT_EQ(held(), 3U);
  EXPECT_EQ(read_, 3U);
  AddTexts(2, "ada");
  memory_->OnLessonsChanged();
  Run();
  EXPECT_EQ(held(), 5U);
  EXPECT_EQ(read_, 5U) << "what is held is not read again";
  EXPECT_EQ(memory_->status().memories.users, 1U);
  ASSERT_TRUE(lessons_->WithdrawUser("ada").ok());
  memory_->OnLessonsWithdrawn();
  EXPECT_EQ(held(), 3U) << "at once";
  EXPECT_EQ(Kept().size(), 3U);
  Run();
  EXPECT_EQ(held(), 3U);
}

TEST_F(MemoryActorTest, AStartTakesWhatWasRead) {
  AddTexts(3);
  Start();
  Correct("r", " counted the ships.");
  Run();
  ASSERT_EQ(held(), 4U);
  ASSERT_EQ(Kept().size(), 4U);
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.edited_text = " rowed."}).ok()) << "unnoticed";
  read_ = 0;
  Start();
  EXPECT_EQ(held(), 4U);
  EXPECT_EQ(read_, 1U) << "what is taught otherwise is read again";
  EXPECT_EQ(memory_->status().restored, 3U);
}

TEST_F(MemoryActorTest, ACorrectionDoesNotWaitForTexts) {
  AddTexts(30);
  size_t readings_without_it = 0;
  on_reading_ = [&] {
    if (read_ == 1) {
      Correct("r", " counted the ships.");
    }
    readings_without_it += Holds("r") ? 0 : 1;
  };
  Start();
  EXPECT_EQ(held(), 31U);
  EXPECT_TRUE(Holds("r"));
  EXPECT_LE(readings_without_it, 17U) << "only what was under way came before it";
  EXPECT_EQ(read_, 31U);
}

TEST_F(MemoryActorTest, APauseStopsReadingButNotForgetting) {
  Start();
  Correct("r", " counted the ships.");
  Run();
  ASSERT_TRUE(Holds("r"));
  ASSERT_TRUE(changes_->SetPaused(true).ok());
  Correct("r", " rowed.");
  EXPECT_FALSE(Holds("r")) << "what was corrected must not be quoted any more";
  AddTexts(2);
  memory_->OnLessonsChanged();
  read_ = 0;
  Run();
  EXPECT_EQ(read_, 0U);
  EXPECT_EQ(held(), 0U);
  EXPECT_EQ(memory_->status().waiting, 3U);
  EXPECT_THAT(Kept(), IsEmpty());
  ASSERT_TRUE(changes_->SetPaused(false).ok());
  Run();
  EXPECT_EQ(held(), 3U);
  EXPECT_EQ(read_, 3U) << "a lesson that was rated and found is read once";
}

// Found by review: after a lesson was forgotten, those of all users without room were read again.
TEST_F(MemoryActorTest, WhatHasNoRoomIsNotRead) {
  for (const char* user : {"ada", "bob", "cat"}) {
    AddTexts(12, user);
  }
  Start(/*max_tokens=*/120);
  const size_t room = held();
  ASSERT_GT(room, 3U);
  ASSERT_LT(room, 10U);
  EXPECT_LT(read_, room + 12) << "each user's texts are read until one has no room";
  read_ = 0;
  memory_->OnLessonsChanged();
  Run();
  EXPECT_EQ(read_, 0U);
  EXPECT_EQ(memory_->status().waiting, 0U);
}

TEST_F(MemoryActorTest, WhatWasWithdrawnWhileItWasReadIsForgotten) {
  AddTexts(1, "ada");
  on_reading_ = [this] {
    ASSERT_TRUE(lessons_->WithdrawUser("ada").ok());
    memory_->OnLessonsWithdrawn();
  };
  Start();
  EXPECT_EQ(read_, 1U);
  EXPECT_EQ(held(), 0U);
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(MemoryActorTest, ADrainEndsTheReading) {
  AddTexts(20);
  on_reading_ = [this] { stops_ = true; };
  Start();
  EXPECT_EQ(read_, 1U);
  EXPECT_EQ(held(), 0U);
  EXPECT_EQ(memory_->status().waiting, 20U);
}

}  // namespace
}  // namespace ruvd::actors
