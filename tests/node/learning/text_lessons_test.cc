// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests how deep rounds learn from the texts that a person gave the node.

#include "node/learning/text_lessons.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "node/learning/deep_lessons.h"
#include "node/learning/deep_limits.h"
#include "node/learning/evaluation_lessons.h"
#include "node/sharing/judging_texts.h"
#include "storage/lessons/lesson_store.h"
#include "tests/node/deep_round_fixture.h"

namespace ruvd::learning {
namespace {

using storage::NewLesson;

class TextLessonsTest : public DeepRoundFixture {
 protected:
  void SetUp() override {
    DeepRoundFixture::SetUp();
    lessons_ = storage::LessonStore::Open(*database_).value();
  }
  void TearDown() override { lessons_.reset(); }

  storage::LessonSourceId AddText(const std::string& name, size_t lessons,
                                  const std::string& user = "") {
    std::vector<NewLesson> pieces;
    for (size_t i = 0; i < lessons; ++i) {
      pieces.push_back({.text = fmt::format(
                            "The lighthouse keeper of {} wrote line {} into the book.", name, i)});
    }
    const auto added = lessons_->Add(
        {.name = name, .content_hash = Sha256(name), .bytes = 1, .user_id = user}, pieces);
    EXPECT_TRUE(added.ok()) << added.status();
    EXPECT_EQ(added->added, lessons);
    return added->source.value();
  }
  LearningServices WithTexts() {
    LearningServices services = Services().learning;
    services.lessons = lessons_.get();
    return services;
  }
  DeepResult RunWithTexts() {
    DeepServices services = Services();
    services.learning.lessons = lessons_.get();
    Random random(1);
    const auto round = DeepRound::Begin(services, options_, random);
    EXPECT_TRUE(round.ok()) << round.status();
    EXPECT_TRUE((*round)->Work(std::chrono::hours(1)).value());
    before_finish_();
    const auto result = (*round)->Finish();
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(DeepResult{});
  }

  std::unique_ptr<storage::LessonStore> lessons_;
  std::function<void()> before_finish_ = [] {};
};

TEST_F(TextLessonsTest, NamesAreThoseOfNoResponse) {
  storage::LessonId id{};
  id[0] = 0xAB;
  const std::string name = NameOfTextLesson(id);
  EXPECT_EQ(TextLessonOf(name), id);
  for (const std::string other : {"lesson 00", "text:", "text:zz", "text:00", ""}) {
    EXPECT_EQ(TextLessonOf(other), std::nullopt) << other;
  }
}

TEST_F(TextLessonsTest, ALessonIsReadFromItsStore) {
  AddText("notes", 1, "ada");
  std::string name;
  ASSERT_TRUE(lessons_
                  ->ForEachEntry([&](const storage::LessonEntry& entry) {
                    name = NameOfTextLesson(entry.id);
                    return true;
                  })
                  .ok());
  const auto lesson = ReadLesson(WithTexts(), name, 0.7F);
  ASSERT_TRUE(lesson.ok() && lesson->has_value()) << lesson.status();
  EXPECT_EQ((*lesson)->target, "The lighthouse keeper of notes wrote line 0 into the book.");
  EXPECT_EQ((*lesson)->trajectory.user_id, "ada");
  EXPECT_EQ((*lesson)->reward, 1);
  EXPECT_FALSE(IsGone(WithTexts(), name).value());
  ASSERT_TRUE(lessons_->WithdrawUser("ada").ok());
  EXPECT_TRUE(IsGone(WithTexts(), name).value());
  EXPECT_EQ(ReadLesson(WithTexts(), name, 0.7F).value(), std::nullopt);
}

TEST_F(TextLessonsTest, WholeSourcesAreHeldBackAndOneIsSplit) {
  std::map<std::string, storage::LessonSourceId> sources;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    sources[name] = AddText(name, 10);
  }
  const auto chosen = ChooseTextLessons(WithTexts(), 1000, 1000, 7);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->held_back.size(), 15U);
  EXPECT_EQ(chosen->taught.size(), 45U);
  const auto sources_of = [this](const std::vector<std::string>& names) {
    std::set<storage::LessonSourceId> set;
    for (const std::string& name : names) {
      set.insert(lessons_->Get(*TextLessonOf(name))->source);
    }
    return set;
  };
  std::vector<storage::LessonSourceId> both;
  std::ranges::set_intersection(sources_of(chosen->held_back), sources_of(chosen->taught),
                                std::back_inserter(both));
  EXPECT_EQ(both.size(), 1U) << "neighbouring pieces tell too much about each other";
  EXPECT_EQ(ChooseTextLessons(WithTexts(), 1000, 1000, 7)->taught, chosen->taught);
  EXPECT_EQ(ChooseTextLessons(WithTexts(), 1000, 1000, 8)->held_back, chosen->held_back)
      << "the version that a round continues from must not have learned what judges it";
  EXPECT_EQ(ChooseTextLessons(WithTexts(), 20, 3, 7)->held_back.size(), 3U);
}

TEST_F(TextLessonsTest, ARoundTakesCompletionsAndTexts) {
  AddText("book", 100);
  const auto chosen = ChooseDeepLessons(WithTexts(), 0.7F, 1);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->taught.size() + chosen->held_back.size(), 100 + kDeepTestLessons);
  const auto texts = [](const std::vector<std::string>& names) {
    return std::ranges::count_if(names, [](const auto& name) { return !!TextLessonOf(name); });
  };
  EXPECT_EQ(texts(chosen->taught) + texts(chosen->held_back), 100);
  EXPECT_EQ(texts(chosen->held_back), 25);
}

TEST_F(TextLessonsTest, TheWordsOfTextsAreAmongThoseOfTheAdapter) {
  AddText("book", 60);
  const DeepResult result = RunWithTexts();
  EXPECT_EQ(result.outcome, DeepOutcome::kPublished);
  EXPECT_LT(result.held_out_after, result.held_out_before);
  EXPECT_EQ(catalog_->Find(serving::kDeepAdapter, std::nullopt)->adapter->words->lessons,
            result.lessons);
}

TEST_F(TextLessonsTest, ATextThatIsWithdrawnMeanwhileIsNotServed) {
  const storage::LessonSourceId source = AddText("book", 60);
  before_finish_ = [&] { ASSERT_TRUE(lessons_->WithdrawSource(source).ok()); };
  EXPECT_EQ(RunWithTexts().outcome, DeepOutcome::kErased);
  EXPECT_FALSE(catalog_->Find(serving::kDeepAdapter, std::nullopt).ok());
}

TEST_F(TextLessonsTest, TextsEvaluateUpdatesOfPeers) {
  AddText("book", 60);
  const size_t without = sharing::ChooseEvaluationLessons(Services().learning, 0.7F)->size();
  const size_t with = sharing::ChooseEvaluationLessons(WithTexts(), 0.7F)->size();
  EXPECT_GT(with, without + 3);
  EXPECT_LE(with, limits::kMaxEvaluationLessons);
}

}  // namespace
}  // namespace ruvd::learning
