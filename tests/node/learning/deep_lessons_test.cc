// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which lessons a deep round learns, and when a change of these lessons ends the round.

#include "node/learning/deep_lessons.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "inference/retrieval/whitening.h"
#include "node/learning/deep_limits.h"
#include "node/serving/prompt_tokens.h"
#include "tests/node/deep_round_fixture.h"

namespace ruvd::learning {
namespace {

class DeepLessonsTest : public DeepRoundFixture {
 protected:
  void AddLessons(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      clock_.Advance(std::chrono::milliseconds(1));
      AddLesson(fmt::format("more {:05}", i));
    }
  }
};

// With at most 512 lessons a round learned the words and not the domain.
TEST_F(DeepLessonsTest, TheNewestOfManyAreChosenAndFewJudge) {
  AddLessons(limits::kMaxDeepLessons + 1 - kDeepTestLessons);
  const auto chosen = ChooseDeepLessons(Services().learning, 0.7F, 1);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->held_back.size(), limits::kMaxDeepHeldBack);
  EXPECT_EQ(chosen->taught.size(), limits::kMaxDeepLessons - limits::kMaxDeepHeldBack);
  std::vector<std::string> all = chosen->taught;
  all.insert(all.end(), chosen->held_back.begin(), chosen->held_back.end());
  std::ranges::sort(all);
  EXPECT_TRUE(std::ranges::adjacent_find(all) == all.end()) << "one is there twice";
  EXPECT_FALSE(std::ranges::binary_search(all, "lesson 00")) << "the oldest one";
  EXPECT_TRUE(std::ranges::binary_search(all, "lesson 01"));
}

// Found by review: newer completions displaced lessons of users during a round. These lessons were
// taken for erased ones, and the round ended without a version.
TEST_F(DeepLessonsTest, LessonsThatSoonLeaveTheStoreAreNotChosen) {
  trajectories_ =
      storage::TrajectoryStore::Open(*database_, {.capacity = 20, .feedback_capacity = 20}).value();
  const auto choose = [&] { return ChooseDeepLessons(Services().learning, 0.7F, 1).value(); };
  DeepLessons chosen = choose();
  EXPECT_EQ(chosen.taught.size() + chosen.held_back.size(), 10u) << "of 16";
  for (int i = 0; i < 10; ++i) {
    AddLesson(fmt::format("later {}", i), "someone");
  }
  for (const std::string& id : chosen.taught) {
    EXPECT_TRUE(trajectories_->Get(id).ok()) << id;
  }
}

TEST_F(DeepLessonsTest, TrainingCutsALongPrompt) {
  const auto context = static_cast<size_t>(model_->config().context);
  std::string prompt;
  while (serving::PromptTokens(*model_, prompt + " keeper").size() < context) {
    prompt += " keeper";
  }
  const std::vector<inference::TokenId> tokens = serving::PromptTokens(*model_, prompt);
  ASSERT_GT(tokens.size(), context / 2);
  ASSERT_TRUE(trajectories_
                  ->Put({.response_id = "long",
                         .prompt = prompt,
                         .completion = " counted the ships every evening and wrote it down.",
                         .embedded_by = std::string(AsText(kDeepTestPackage)),
                         .created_ms = clock_.WallMillis(),
                         .accepted = true})
                  .ok());
  std::vector<inference::TrainingExample> examples;
  std::vector<std::string> revocable;
  const std::vector<std::string> responses = {"long"};
  const auto read = ReadExamples(Services().learning, responses, 0.7F, {&examples, &revocable});
  ASSERT_TRUE(read.ok() && *read) << read.status();
  EXPECT_LT(examples.front().prompt.size(), tokens.size()) << "training cuts it";
}

TEST_F(DeepLessonsTest, NeverMoreThanHalfOfThoseHeldBackSayWhenToStop) {
  EXPECT_EQ(SelectionCount(0), 0u);
  EXPECT_EQ(SelectionCount(2 * limits::kMinSelection - 1), 0u);
  EXPECT_EQ(SelectionCount(2 * limits::kMinSelection), limits::kMinSelection);
  EXPECT_EQ(SelectionCount(limits::kMaxDeepHeldBack), limits::kMaxSelection);
}

TEST_F(DeepLessonsTest, ARoundEndsWhereItsLessonsGainNoMore) {
  AddLessons(8 * limits::kMinSelection - kDeepTestLessons);
  options_.steps = 12;
  options_.select_every = 2;
  options_.learning_rate = 1;  // every step is too long
  const DeepResult wild = Run();
  EXPECT_LT(wild.steps, 12u);
  EXPECT_EQ(wild.outcome, DeepOutcome::kNoImprovement) << "what was best was where it began";
  EXPECT_EQ(wild.held_out_after, wild.held_out_before);
  EXPECT_EQ(wild.held_back, limits::kMinSelection) << "those that said when to stop judge nothing";
  options_.learning_rate = 1e-3;
  const DeepResult calm = Run();
  EXPECT_EQ(calm.steps, 12u);
  EXPECT_EQ(calm.outcome, DeepOutcome::kPublished);
}

TEST_F(DeepLessonsTest, AUserWhoseLessonOnlySaidWhenToStopIsErasedLikeOthers) {
  for (size_t i = kDeepTestLessons; i < 8 * limits::kMinSelection; ++i) {
    AddLesson(fmt::format("more {:05}", i), fmt::format("user {}", i));
  }
  const auto chosen = ChooseDeepLessons(Services().learning, 0.7F, 1);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  const std::span<const std::string> stopping =
      std::span(chosen->held_back).first(SelectionCount(chosen->held_back.size()));
  const auto of_user =
      std::ranges::find_if(stopping, [](const std::string& id) { return id.starts_with("more "); });
  ASSERT_TRUE(of_user != stopping.end());
  const auto round = Begin();
  ASSERT_TRUE(round->Work(std::chrono::hours(1)).ok());
  const std::string user = trajectories_->Get(*of_user)->user_id;
  ASSERT_TRUE(database_->Erase(storage::KeyScope::User(user)).ok());
  const auto result = round->Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->outcome, DeepOutcome::kErased);
}

TEST_F(DeepLessonsTest, AnInterruptedRoundEndsWhereItWouldHave) {
  AddLessons(8 * limits::kMinSelection - kDeepTestLessons);
  options_.steps = 12;
  options_.select_every = 2;
  const DeepResult whole = Run(5);
  ASSERT_EQ(whole.outcome, DeepOutcome::kPublished);
  const Digest id = ServedId();
  ASSERT_TRUE(catalog_->Unload(serving::kDeepAdapter, whole.version).ok());
  ASSERT_TRUE(changes_->Remove(whole.change->number).ok());
  {
    const auto round = Begin(5);
    while (round->step() < 7) {
      ASSERT_FALSE(round->Work(Duration(1)).value());
    }
  }
  const DeepResult resumed = Run(99);
  EXPECT_GE(resumed.resumed_at, 7u);
  EXPECT_EQ(resumed.held_out_after, whole.held_out_after);
  EXPECT_EQ(ServedId(), id);
}

}  // namespace
}  // namespace ruvd::learning
