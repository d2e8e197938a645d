// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the list of changes that learning made, and the answers to feedback.

#include "storage/changes/change_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/changes/change_rows.h"
#include "storage/changes/feedback_answer_store.h"
#include "storage/reasons.h"
#include "storage/verify/row_checks.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;

constexpr PatternId kId{1, 2, 3};

LearningChange Stored(uint32_t version) {
  return {.created_ms = 1000 + version,
          .loop = LearningLoop::kBackground,
          .kind = ChangeKind::kPatternStored,
          .responses = {"r", "s"},
          .on_demand = true,
          .pattern = kId,
          .package_id = Sha256("package"),
          .adapter_name = "pattern-01",
          .version_before = version - 1,
          .version = version,
          .lessons = 2};
}

LearningChange Taught(const std::string& user) {
  return {.created_ms = 7,
          .loop = LearningLoop::kInstant,
          .kind = ChangeKind::kSessionTaught,
          .responses = {"r"},
          .user_id = user,
          .session_id = "session",
          .lessons = 5};
}

PatternImage Before(size_t bytes) {
  return {.id = kId,
          .before = Pattern{.id = kId,
                            .embedding = {0.5F, -1.0F},
                            .bank = 2,
                            .task = "walks",
                            .quality = 0.75F,
                            .tier = SharingTier::kPrivate,
                            .examples = 3,
                            .adapter_name = "pattern-00",
                            .adapter_version = 4,
                            .payload = std::string(bytes, 'x')}};
}

class ChangeStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    Reopen();
  }
  void Reopen(const ChangeStoreOptions& options = {}) {
    answers_.reset();
    store_.reset();
    database_.reset();
    database_ = OpenStore();
    store_ = ChangeStore::Open(*database_, options).value();
    answers_ = FeedbackAnswerStore::Open(*database_, 3).value();
  }
  LearningChange Add(const LearningChange& change, const std::vector<PatternImage>& images = {}) {
    auto added = store_->Add(change, images);
    EXPECT_TRUE(added.ok()) << added.status();
    return added.value_or(LearningChange{});
  }
  LearningChange Newest() {
    const auto list = store_->List(1);
    return list.ok() && !list->empty() ? list->front() : LearningChange{};
  }
  std::vector<uint64_t> Numbers() {
    std::vector<uint64_t> numbers;
    const auto list = store_->List(100);
    EXPECT_TRUE(list.ok()) << list.status();
    for (const LearningChange& change : list.value_or(std::vector<LearningChange>{})) {
      numbers.push_back(change.number);
    }
    return numbers;
  }

  std::unique_ptr<Database> database_;
  std::unique_ptr<ChangeStore> store_;
  std::unique_ptr<FeedbackAnswerStore> answers_;
};

// The erasure of a collection also destroys the embedding and adapter of a pattern.
TEST_F(ChangeStoreTest, TheErasureOfACollectionTakesItsImages) {
  Reopen({.image_scope = KeyScope::Collection(3)});
  const LearningChange change = Add(Stored(5), {Before(1000)});
  ASSERT_TRUE(store_->ImagesOf(change).ok());
  ASSERT_TRUE(database_->Erase(KeyScope::Collection(3)).ok());
  EXPECT_EQ(ReasonOf(store_->ImagesOf(change).status()), reasons::kCannotUndo);
  EXPECT_THAT(Numbers(), ElementsAre(change.number)) << "it stays listed";
}

TEST_F(ChangeStoreTest, AVersionOfTheRouterIsListedOverAReopen) {
  const LearningChange listed = Add({.created_ms = 5,
                                     .loop = LearningLoop::kBackground,
                                     .kind = ChangeKind::kRouterTrained,
                                     .adapter_name = "router",
                                     .version = 3,
                                     .lessons = 200});
  EXPECT_EQ(ChangeKindName(listed.kind), "router_trained");
  Reopen();
  EXPECT_EQ(Newest(), listed);
}

TEST_F(ChangeStoreTest, AChangeAndWhatWasThereBeforeSurviveARestart) {
  const LearningChange change = Add(Stored(5), {Before(1000)});
  EXPECT_EQ(change.number, 1u);
  Reopen();
  const auto found = store_->Find(TokenOf(change));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, change);
  const auto images = store_->ImagesOf(*found);
  ASSERT_TRUE(images.ok()) << images.status();
  ASSERT_EQ(images->size(), 1u);
  const Pattern expected = *Before(1000).before;
  const Pattern& before = *images->front().before;
  EXPECT_EQ(before.id, expected.id);
  EXPECT_EQ(before.embedding, expected.embedding);
  EXPECT_EQ(before.payload, expected.payload);
  EXPECT_EQ(before.adapter_name, expected.adapter_name);
  EXPECT_EQ(before.adapter_version, expected.adapter_version);
  EXPECT_EQ(before.quality, expected.quality);
  EXPECT_EQ(before.examples, expected.examples);
  EXPECT_EQ(Add(Stored(6)).number, 2u);
}

TEST_F(ChangeStoreTest, APatternThatWasNotThereIsSaidSo) {
  const LearningChange change = Add(Stored(1), {PatternImage{.id = kId, .before = {}}});
  const auto images = store_->ImagesOf(change);
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(images->front().id, kId);
  EXPECT_FALSE(images->front().before.has_value());
}

TEST_F(ChangeStoreTest, OnlyTheWholeTokenNamesAChange) {
  const LearningChange change = Add(Stored(5));
  LearningChange other = change;
  other.mark ^= 1;
  EXPECT_TRUE(absl::IsNotFound(store_->Find(TokenOf(other)).status()));
  for (const char* text : {"", "x", "-", "1", "last", "99999999999999999999999-00000000"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Find(text).status())) << text;
  }
  EXPECT_TRUE(absl::IsNotFound(store_->Find("2-00000000").status()));
}

TEST_F(ChangeStoreTest, AnUndoneChangeStaysListedWithoutItsImages) {
  Add(Stored(1), {Before(10)});
  Add(Stored(2), {Before(10)});
  ASSERT_TRUE(store_->SetUndone(2, 99).ok());
  Reopen();
  const auto list = store_->List(1);
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->front().undone_ms, 99);
  EXPECT_EQ(ReasonOf(store_->ImagesOf(list->front()).status()), reasons::kCannotUndo);
}

TEST_F(ChangeStoreTest, TheOldestChangesGiveWay) {
  Reopen({.capacity = 3});
  for (uint32_t i = 1; i <= 5; ++i) {
    Add(Stored(i), {Before(10)});
  }
  EXPECT_THAT(Numbers(), ElementsAre(5, 4, 3));
  Reopen({.capacity = 2});
  Add(Stored(6));
  EXPECT_THAT(Numbers(), ElementsAre(6, 5));
}

// Regression test: 512 ratings made it impossible to undo what rounds had learned.
TEST_F(ChangeStoreTest, WhatSessionsAreTaughtCrowdsNothingElseOut) {
  Reopen({.capacity = 3, .session_capacity = 2});
  const LearningChange first = Add(Stored(1), {Before(10)});
  for (int i = 0; i < 4; ++i) {
    Add(Taught(""));
  }
  EXPECT_THAT(Numbers(), ElementsAre(5, 4, 1));
  ASSERT_TRUE(store_->SetUndone(5, 99).ok());
  EXPECT_TRUE(store_->ImagesOf(first).ok());
  for (uint32_t i = 2; i <= 4; ++i) {
    Add(Stored(i), {Before(10)});
  }
  EXPECT_THAT(Numbers(), ElementsAre(8, 7, 6, 5, 4));
}

TEST_F(ChangeStoreTest, RememberedCompletionsCrowdNothingElseOut) {
  Reopen({.capacity = 3, .session_capacity = 2, .lesson_capacity = 2});
  const LearningChange first = Add(Stored(1), {Before(10)});
  Add(Taught(""));
  for (int i = 0; i < 4; ++i) {
    Add({.loop = LearningLoop::kInstant,
         .kind = ChangeKind::kLessonRemembered,
         .responses = {"r"},
         .user_id = "ada"});
  }
  EXPECT_THAT(Numbers(), ElementsAre(6, 5, 2, 1));
  Reopen({.capacity = 3, .session_capacity = 2, .lesson_capacity = 2});
  EXPECT_THAT(Numbers(), ElementsAre(6, 5, 1)) << "the session has forgotten";
  EXPECT_EQ(Newest().kind, ChangeKind::kLessonRemembered);
  EXPECT_EQ(Newest().user_id, "ada");
  EXPECT_TRUE(store_->ImagesOf(first).ok());
}

TEST_F(ChangeStoreTest, WhereImagesTakeTooMuchTheOldestChangesCanBeUndoneNoMore) {
  Reopen({.image_bytes = 3000});
  const LearningChange first = Add(Stored(1), {Before(1000)});
  const LearningChange second = Add(Stored(2), {Before(1000)});
  Reopen({.image_bytes = 3000});
  const LearningChange third = Add(Stored(3), {Before(1000)});
  EXPECT_EQ(ReasonOf(store_->ImagesOf(first).status()), reasons::kCannotUndo);
  EXPECT_TRUE(store_->ImagesOf(second).ok());
  EXPECT_TRUE(store_->ImagesOf(third).ok());
  EXPECT_THAT(Numbers(), ElementsAre(3, 2, 1)) << "they stay listed";
}

TEST_F(ChangeStoreTest, NothingIsKeptOfAPatternThatIsForgotten) {
  const LearningChange change = Add(Stored(1), {Before(1000)});
  LearningChange merge = Stored(2);
  merge.kind = ChangeKind::kPatternsMerged;
  merge.pattern = PatternId{9};
  merge.merged = kId;
  const LearningChange merged = Add(merge, {Before(10), Before(10)});
  ASSERT_TRUE(store_->ForgetPattern(kId).ok());
  EXPECT_FALSE(store_->ImagesOf(change).ok());
  EXPECT_FALSE(store_->ImagesOf(merged).ok());
  EXPECT_FALSE(database_->Contains(ColumnFamily::kChange, changes::ImageKey(1, 0)).value());
  EXPECT_FALSE(database_->Contains(ColumnFamily::kChange, changes::ImageKey(2, 1)).value());
}

TEST_F(ChangeStoreTest, WhatASessionWasTaughtGoesWithItsUser) {
  const LearningChange hers = Add(Taught("alice"));
  Add(Taught(""));
  ASSERT_TRUE(database_->Erase(KeyScope::User("alice")).ok());
  EXPECT_TRUE(absl::IsNotFound(store_->Find(TokenOf(hers)).status()));
  EXPECT_THAT(Numbers(), ElementsAre(2));
}

// Regression test: such changes stayed for ever, and `undo --last` tried the newest of them each
// time.
TEST_F(ChangeStoreTest, WhatSessionsWereTaughtBeforeARestartIsDropped) {
  Add(Stored(1), {Before(10)});
  Add(Taught("alice"));
  Add(Taught(""));
  Reopen();
  EXPECT_THAT(Numbers(), ElementsAre(1));
  EXPECT_FALSE(database_->Contains(ColumnFamily::kChange, changes::ChangeKey(2)).value());
}

TEST_F(ChangeStoreTest, AChangeThatWasNotMadeLeavesNoTrace) {
  const LearningChange change = Add(Stored(1), {Before(10)});
  ASSERT_TRUE(store_->Remove(change.number).ok());
  ASSERT_TRUE(store_->Remove(change.number).ok());
  EXPECT_EQ(store_->size(), 0u);
  EXPECT_FALSE(database_->Contains(ColumnFamily::kChange, changes::ImageKey(1, 0)).value());
}

TEST_F(ChangeStoreTest, RefusesWhatItCouldNotReadAgain) {
  LearningChange change = Stored(1);
  change.responses = {"\xff"};
  EXPECT_TRUE(absl::IsInvalidArgument(store_->Add(change, {}).status()));
  const std::vector<PatternImage> many(limits::kMaxChangeImages + 1, Before(1));
  EXPECT_EQ(ReasonOf(store_->Add(Stored(1), many).status()), reasons::kLimitExceeded);
  LearningChange popular = Stored(1);
  popular.responses.assign(limits::kMaxChangeResponses + 1, "r");
  EXPECT_EQ(Add(popular).responses.size(), limits::kMaxChangeResponses);
  EXPECT_EQ(Newest().responses.size(), limits::kMaxChangeResponses);
}

TEST_F(ChangeStoreTest, RowsThatAreDamagedAreNamedAndHideNoOthers) {
  Add(Stored(1), {Before(10)});
  Add(Stored(2));
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kChange, changes::ChangeKey(2), "\x08").ok());
  ASSERT_TRUE(PutOne(*database_, ColumnFamily::kChange, changes::ImageKey(7, 0), "").ok());
  StoreReport report;
  ASSERT_TRUE(CheckChangeRows(*database_, &report).ok());
  EXPECT_EQ(report.problems.size(), 3u) << "a change, an image, and an image without its change";
  Reopen();
  EXPECT_THAT(Numbers(), ElementsAre(1));
}

TEST_F(ChangeStoreTest, APauseSurvivesARestart) {
  EXPECT_FALSE(store_->IsPaused().value());
  ASSERT_TRUE(store_->SetPaused(true).ok());
  Reopen();
  EXPECT_TRUE(store_->IsPaused().value());
  ASSERT_TRUE(store_->SetPaused(false).ok());
  EXPECT_FALSE(store_->IsPaused().value());
}

TEST_F(ChangeStoreTest, AnswersAreRememberedByKeyTheNewestAcrossARestart) {
  EXPECT_EQ(answers_->Find("a").value(), std::nullopt);
  ASSERT_TRUE(answers_->Remember("a", "1").ok());
  ASSERT_TRUE(answers_->Remember("a", "another").ok());
  ASSERT_TRUE(answers_->Remember("", "nobody").ok());
  EXPECT_EQ(answers_->Find("a").value(), "1");
  EXPECT_EQ(answers_->Find("").value(), std::nullopt);
  ASSERT_TRUE(answers_->Remember("b", "2").ok());
  Reopen();
  ASSERT_TRUE(answers_->Remember("c", "3").ok());
  EXPECT_EQ(answers_->Find("a").value(), "1");
  ASSERT_TRUE(answers_->Remember("d", "4").ok());
  EXPECT_EQ(answers_->Find("a").value(), std::nullopt) << "three are kept";
  EXPECT_EQ(answers_->Find("d").value(), "4");
  const std::string long_answer(limits::kMaxFeedbackAnswerBytes + 1, 'x');
  EXPECT_EQ(ReasonOf(answers_->Remember("e", long_answer)), reasons::kLimitExceeded);
}

}  // namespace
}  // namespace ruvd::storage
