// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/lessons/lesson_store.h"

#include "storage/reasons.h"
#include "tests/storage/lesson_fixture.h"

namespace ruvd::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using LessonStoreTest = LessonTest;

TEST_F(LessonStoreTest, KeepsEveryMemberOverARestart) {
  LessonSource source = SourceOf("ward/notes.jsonl", "ann");
  source.tier = 3;
  const std::vector<NewLesson> texts = {{.prompt = "Why?", .text = "Because.\r\n"},
                                        {.text = "Übergabe: нет, 申し送り"}};
  const AddedLessons added = Add(source, texts);
  ASSERT_TRUE(added.source.has_value());
  EXPECT_EQ(added.added, 2U);
  EXPECT_EQ(added.duplicates, 0U);
  source.id = *added.source;
  source.lessons = 2;
  source.complete = true;
  for (const bool again : {false, true}) {
    if (again) {
      Reopen();
    }
    EXPECT_EQ(lessons_->GetSource(source.id).value(), source);
    EXPECT_THAT(lessons_->ListSources({}, 10).value(), ElementsAre(source));
    const std::vector<StoredLesson> all = All();
    ASSERT_EQ(all.size(), 2U);
    for (uint32_t i = 0; i < 2; ++i) {
      EXPECT_EQ(all[i], (StoredLesson{.id = all[i].id,
                                      .number = i + 1,
                                      .source = source.id,
                                      .index = i,
                                      .user_id = "ann",
                                      .prompt = texts[i].prompt,
                                      .text = texts[i].text,
                                      .created_ms = source.created_ms,
                                      .tier = 3}));
      EXPECT_EQ(lessons_->Get(all[i].id).value(), all[i]);
      EXPECT_TRUE(lessons_->Contains(all[i].id).value());
    }
    EXPECT_EQ(lessons_->size(), 2U);
    EXPECT_EQ(lessons_->bytes(), 4 + 10 + texts[1].text.size());
    EXPECT_THAT(Problems(), IsEmpty());
  }
}

TEST_F(LessonStoreTest, UnknownIdsAreNamed) {
  EXPECT_EQ(ReasonOf(lessons_->Get(LessonId{1}).status()), reasons::kNotFound);
  EXPECT_FALSE(lessons_->Contains(LessonId{1}).value());
  EXPECT_EQ(ReasonOf(lessons_->GetSource(LessonSourceId{1}).status()), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(lessons_->WithdrawSource(LessonSourceId{1}).status()), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(lessons_->WithdrawLesson(LessonId{1}).status()), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(lessons_->WithdrawUser("nobody").status()), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(lessons_->List({.most = 0}).status()), reasons::kInvalidArgument);
}

TEST_F(LessonStoreTest, AUserHasATextOnce) {
  const std::vector<NewLesson> texts = {
      {.text = "one\ntwo"}, {.text = "one \r\ntwo\r\n"}, {.prompt = "p", .text = "one\ntwo"}};
  const AddedLessons first = Add(SourceOf("a", "ann"), texts);
  EXPECT_EQ(first.added, 2U);
  EXPECT_EQ(first.duplicates, 1U);
  const AddedLessons again = Add(SourceOf("a", "ann"), texts);
  EXPECT_EQ(again.source, first.source);
  EXPECT_EQ(again.added, 0U);
  EXPECT_EQ(again.duplicates, 3U);
  const AddedLessons other = Add(SourceOf("b", "ann"), texts);
  EXPECT_EQ(other.source, std::nullopt);
  EXPECT_EQ(other.duplicates, 3U);
  EXPECT_EQ(Add(SourceOf("a", "bob"), texts).added, 2U);
  EXPECT_EQ(Add(SourceOf("a"), texts).added, 2U);
  EXPECT_EQ(lessons_->size(), 6U);
  EXPECT_EQ(lessons_->ListSources({}, 10)->size(), 3U);
  EXPECT_EQ(lessons_->GetSource(*first.source)->lessons, 2U);
}

TEST_F(LessonStoreTest, ASourceWithoutLessonsIsNotStored) {
  const AddedLessons added = Add(SourceOf("a"), {});
  EXPECT_EQ(added.source, std::nullopt);
  EXPECT_EQ(Rows(), 0U);
}

TEST_F(LessonStoreTest, AWithdrawalIsKeptInMindUntilItIsHandled) {
  const auto handled = [this] {
    return lessons_->withdrawals().handled == lessons_->withdrawals().made;
  };
  const LessonSourceId a = *Add("a", 4).source;
  Add("b", 2, "ann");
  EXPECT_FALSE(handled()) << "a new store cannot know";
  ASSERT_TRUE(lessons_->NoteWithdrawalsHandled(lessons_->withdrawals().made).ok());
  EXPECT_TRUE(handled());
  Reopen();
  EXPECT_TRUE(handled());
  const uint64_t before = lessons_->withdrawals().made;
  ASSERT_TRUE(lessons_->WithdrawSource(a).ok());
  ASSERT_TRUE(lessons_->NoteWithdrawalsHandled(before).ok());
  EXPECT_FALSE(handled()) << "what was done before the withdrawal does not handle it";
  Reopen();
  EXPECT_FALSE(handled());
  EXPECT_THAT(Problems(), IsEmpty());
  ASSERT_TRUE(lessons_->NoteWithdrawalsHandled(lessons_->withdrawals().made).ok());
  EXPECT_FALSE(lessons_->WithdrawSource(a).ok());
  EXPECT_TRUE(handled()) << "nothing was withdrawn";
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LessonStoreTest, OnlyAStricterTierReplacesOne) {
  const std::vector<NewLesson> texts = TextsOf("a", 4);
  LessonSource source = SourceOf("a");
  const auto add = [&](uint32_t tier) {
    source.tier = tier;
    return Add(source, texts).lowered;
  };
  EXPECT_EQ(add(0), 0U);
  EXPECT_EQ(add(4), 4U);
  EXPECT_EQ(add(2), 4U);
  EXPECT_EQ(add(3), 0U);
  EXPECT_EQ(add(0), 0U);
  Reopen();
  for (const StoredLesson& lesson : All()) {
    EXPECT_EQ(lesson.tier, 2U);
  }
  EXPECT_EQ(lessons_->ListSources({}, 1)->front().tier, 2U);
  // Another source of the same texts, which is not stored itself, lowers them, too.
  LessonSource other = SourceOf("b");
  other.tier = 1;
  const AddedLessons added = Add(other, texts);
  EXPECT_EQ(added.lowered, 4U);
  EXPECT_EQ(added.source, std::nullopt);
  EXPECT_EQ(All().back().tier, 1U);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LessonStoreTest, LimitsAreCheckedBeforeAnythingIsWritten) {
  options_.max_lessons = 5;
  options_.max_bytes = 100;
  options_.max_sources = 2;
  Reopen();
  Add("a", 4);
  const auto refused = [&](const std::string& name, const std::vector<NewLesson>& texts) {
    const absl::Status status = lessons_->Add(SourceOf(name), texts).status();
    EXPECT_EQ(ReasonOf(status), reasons::kLimitExceeded) << status;
    EXPECT_EQ(lessons_->size(), 4U);
    EXPECT_EQ(lessons_->ListSources({}, 10)->size(), 1U);
    return std::string(status.message());
  };
  EXPECT_THAT(refused("b", TextsOf("b", 2)), HasSubstr("would have 6 lessons"));
  EXPECT_THAT(refused("b", {{.text = std::string(70, 'x')}}), HasSubstr("would have 102 bytes"));
  EXPECT_THAT(
      refused("b", {{.text = "x"}, {.text = std::string(limits::kMaxLessonTextBytes, 'x') + "x"}}),
      HasSubstr("cut it into shorter ones"));
  EXPECT_THAT(refused(std::string(limits::kMaxSourceNameBytes + 1, 'n'), TextsOf("b", 1)),
              HasSubstr("a shorter one"));
  options_.max_lessons = 50;
  Reopen();
  Add("b", 1);
  EXPECT_EQ(ReasonOf(lessons_->Add(SourceOf("c"), TextsOf("c", 1)).status()),
            reasons::kLimitExceeded);
  EXPECT_EQ(Add("a", 5).added, 1U) << "a source that is there needs no other";
  // Nothing is displaced: what is withdrawn makes room.
  EXPECT_TRUE(lessons_->WithdrawSource(*Add("b", 1).source).ok());
  EXPECT_EQ(Add("c", 1).added, 1U);
}

TEST_F(LessonStoreTest, WhatIsNoLessonIsRefused) {
  const auto reason = [&](LessonSource source, NewLesson lesson) {
    const std::vector<NewLesson> texts = {{.text = "good"}, std::move(lesson)};
    return std::string(ReasonOf(lessons_->Add(source, texts).status()));
  };
  const LessonSource good = SourceOf("a");
  EXPECT_EQ(reason(good, {.text = "\xFF"}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(good, {.prompt = "\xFF", .text = "x"}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(good, {.text = " \r\n\t"}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(SourceOf(""), {.text = "x"}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(SourceOf("/absolute/a"), {.text = "x"}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(SourceOf("a\xFF"), {.text = "x"}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(SourceOf("a", std::string(129, 'u')), {.text = "x"}), reasons::kLimitExceeded);
  LessonSource source = good;
  source.tier = 5;
  EXPECT_EQ(reason(source, {.text = "x"}), reasons::kInvalidArgument);
  source = good;
  source.created_ms = -1;
  EXPECT_EQ(reason(source, {.text = "x"}), reasons::kInvalidArgument);
  EXPECT_EQ(Rows(), 0U);
}

TEST_F(LessonStoreTest, PagesShowEveryLessonOnce) {
  const LessonSourceId a = *Add("a", 4, "ann").source;
  const LessonSourceId b = *Add("b", 3).source;
  Add(SourceOf("a2", "ann"), TextsOf("a2", 2));
  const auto pages = [&](LessonQuery query) {
    std::vector<size_t> numbers;
    size_t count = 0;
    for (std::optional<uint64_t> from = 0; from; ++count) {
      query.from = *from;
      const LessonPage page = lessons_->List(query).value();
      EXPECT_LE(page.lessons.size(), query.most);
      for (const StoredLesson& lesson : page.lessons) {
        numbers.push_back(lesson.number);
      }
      from = page.next;
    }
    EXPECT_GT(count, 1U);
    return numbers;
  };
  EXPECT_THAT(pages({.most = 2}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(pages({.source = a, .most = 3}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(pages({.user_id = "ann", .most = 1}), ElementsAre(1, 2, 3, 4, 8, 9));
  EXPECT_THAT(pages({.user_id = "", .most = 2}), ElementsAre(5, 6, 7));
  EXPECT_THAT(pages({.source = b, .user_id = "", .most_bytes = 1}), ElementsAre(5, 6, 7));
  EXPECT_THAT(Texts({.source = b, .user_id = "ann"}), IsEmpty());
  EXPECT_THAT(Texts({.source = LessonSourceId{}}), IsEmpty());
  std::vector<LessonSourceId> ids;
  std::optional<LessonSourceId> after;
  for (auto page = lessons_->ListSources(after, 2); !page->empty();
       page = lessons_->ListSources(after, 2)) {
    for (const LessonSource& source : *page) {
      ids.push_back(source.id);
    }
    after = ids.back();
  }
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(ids));
}

TEST_F(LessonStoreTest, WalksBeginWithTheNewest) {
  Add("a", 4);
  Add("b", 1);
  std::vector<std::string> seen;
  EXPECT_TRUE(lessons_
                  ->ForEachEntry([&](const LessonEntry& entry) {
                    seen.push_back(lessons_->Get(entry.id)->text);
                    return seen.size() < 3;
                  })
                  .ok());
  EXPECT_THAT(seen, ElementsAre("b says 0", "a says 3", "a says 2"));
  std::vector<uint64_t> numbers;
  EXPECT_TRUE(lessons_
                  ->ForEachEntry([&](const LessonEntry& entry) {
                    const StoredLesson lesson = lessons_->Get(entry.id).value();
                    EXPECT_EQ(entry, (LessonEntry{.id = lesson.id,
                                                  .number = lesson.number,
                                                  .source = lesson.source,
                                                  .bytes = 8}));
                    numbers.push_back(entry.number);
                    return entry.number > 2;
                  })
                  .ok());
  EXPECT_THAT(numbers, ElementsAre(5, 4, 3, 2));
}

TEST_F(LessonStoreTest, AWithdrawnSourceLeavesNoRow) {
  const LessonSourceId a = *Add("a", 7, "ann").source;
  const LessonId first = All().front().id;
  Add("b", 2, "ann");
  const size_t rows = Rows();
  EXPECT_EQ(rows, 3U * 9 + 2);
  const WithdrawnLessons withdrawn = lessons_->WithdrawSource(a).value();
  EXPECT_EQ(withdrawn.lessons, 7U);
  EXPECT_EQ(withdrawn.sources, 1U);
  for (const bool again : {false, true}) {
    if (again) {
      Reopen();
    }
    EXPECT_EQ(Rows(), 3U * 2 + 1);
    EXPECT_FALSE(lessons_->Contains(first).value());
    EXPECT_EQ(ReasonOf(lessons_->Get(first).status()), reasons::kNotFound);
    EXPECT_EQ(ReasonOf(lessons_->GetSource(a).status()), reasons::kNotFound);
    EXPECT_THAT(Texts(), ElementsAre("b says 0", "b says 1"));
    EXPECT_EQ(lessons_->size(), 2U);
    EXPECT_EQ(lessons_->bytes(), 16U);
    EXPECT_THAT(Problems(), IsEmpty());
  }
  EXPECT_EQ(ReasonOf(lessons_->WithdrawSource(a).status()), reasons::kNotFound);
  EXPECT_EQ(Add("a", 7, "ann").added, 7U);
}

TEST_F(LessonStoreTest, AUsersLessonsAreWithdrawnTogether) {
  Add("a", 4, "ann");
  Add("b", 1, "ann");
  Add("a", 4, "bob");
  Add("a", 2);
  const WithdrawnLessons withdrawn = lessons_->WithdrawUser("ann").value();
  EXPECT_EQ(withdrawn.lessons, 5U);
  EXPECT_EQ(withdrawn.sources, 2U);
  EXPECT_EQ(ReasonOf(lessons_->WithdrawUser("ann").status()), reasons::kNotFound);
  EXPECT_EQ(lessons_->WithdrawUser("")->lessons, 2U);
  EXPECT_EQ(All({.user_id = "bob"}).size(), 4U);
  EXPECT_EQ(lessons_->size(), 4U);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(LessonStoreTest, TheLastWithdrawnLessonTakesItsSourceAlong) {
  const LessonSourceId a = *Add("a", 3).source;
  const std::vector<StoredLesson> all = All();
  EXPECT_EQ(lessons_->WithdrawLesson(all[1].id)->sources, 0U);
  EXPECT_EQ(lessons_->GetSource(a)->lessons, 2U);
  Reopen();
  EXPECT_EQ(lessons_->GetSource(a)->lessons, 2U);
  EXPECT_THAT(Texts({.source = a}), ElementsAre("a says 0", "a says 2"));
  EXPECT_THAT(Problems(), IsEmpty());
  EXPECT_EQ(lessons_->WithdrawLesson(all[0].id)->sources, 0U);
  EXPECT_EQ(lessons_->WithdrawLesson(all[2].id)->sources, 1U);
  EXPECT_EQ(Rows(), 0U);
  EXPECT_EQ(lessons_->size(), 0U);
  EXPECT_EQ(lessons_->bytes(), 0U);
}

TEST_F(LessonStoreTest, AFullDiskRefusesLessonsAndLetsThemGo) {
  DatabaseOptions database = Options();
  database.soft_reserve_bytes = 1 << 20;
  Reopen(database);
  const LessonSourceId a = *Add("a", 4).source;
  Add("b", 4);
  const size_t rows = Rows();
  SetFreeBytes(1 << 19);  // below the soft reserve
  EXPECT_EQ(ReasonOf(lessons_->Add(SourceOf("c"), TextsOf("c", 9)).status()), reasons::kDiskFull);
  EXPECT_EQ(Rows(), rows);
  EXPECT_EQ(lessons_->size(), 8U);
  SetFreeBytes(0);  // below the hard one
  EXPECT_EQ(lessons_->WithdrawSource(a)->lessons, 4U);
  EXPECT_EQ(lessons_->WithdrawLesson(All().front().id)->lessons, 1U);
  EXPECT_EQ(lessons_->size(), 3U);
  Reopen();
  EXPECT_EQ(lessons_->size(), 3U);
}

TEST_F(LessonStoreTest, AStoreThatIsFullFromTheStartOpens) {
  SetFreeBytes(0);
  Reopen();
  EXPECT_EQ(lessons_->size(), 0U);
  EXPECT_EQ(ReasonOf(lessons_->Add(SourceOf("c"), TextsOf("c", 1)).status()),
            reasons::kStoreReadOnly);
}

}  // namespace
}  // namespace ruvd::storage
