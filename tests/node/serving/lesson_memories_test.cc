// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/lesson_memories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "tests/inference/memory_fixture.h"

namespace ruvd::serving {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class LessonMemoriesTest : public testing::Test {
 protected:
  // Each lesson ranks above those before it.
  RememberedLesson Lesson(const std::string& name, const std::string& user, size_t tokens = 20) {
    const test::MadeLesson made = test::MakeLesson(random_, tokens + 4, 4);
    const uint64_t id = RunIdOf(name);
    return {.name = name,
            .user_id = user,
            .rank = ++last_rank_,
            .masked = test::RunOf(*parameters_, id, made),
            .causal = test::RunOf(*parameters_, id, made),
            .read = clock_.Now()};
  }
  size_t EntriesFor(std::string_view user, bool causal = false) const {
    const auto reader = memories_.ReaderFor(user, causal);
    return reader == nullptr ? 0 : reader->memory().entries();
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, source] : memories_.Names()) {
      names.push_back(name);
    }
    return names;
  }

  Random random_{3};
  uint64_t last_rank_ = 0;
  ManualClock clock_;
  std::shared_ptr<const inference::MemoryParameters> parameters_ =
      std::make_shared<inference::MemoryParameters>(test::RandomMemoryParameters());
  LessonMemories memories_{parameters_, 100, clock_};
};

TEST_F(LessonMemoriesTest, UsersSeeTheirOwnLessonsAndThoseOfNobody) {
  EXPECT_EQ(memories_.ReaderFor("ada", false), nullptr);
  memories_.Add(Lesson("a", "ada", 20));
  memories_.Add(Lesson("b", "bob", 30));
  EXPECT_EQ(EntriesFor("ada"), 20U);
  EXPECT_EQ(EntriesFor("bob"), 30U);
  EXPECT_EQ(EntriesFor(""), 0U);
  memories_.Add(Lesson("c", "", 10));
  EXPECT_EQ(EntriesFor("ada"), 30U);
  EXPECT_EQ(EntriesFor("eve", true), 10U);
  EXPECT_EQ(memories_.status().users, 2U);
  EXPECT_EQ(memories_.status().lessons, 3U);
  EXPECT_EQ(memories_.status().entries, 60U);
  EXPECT_GT(memories_.status().bytes, 60U * 2 * 40);
}

TEST_F(LessonMemoriesTest, ALessonIsHeldOnceAndCanBeForgotten) {
  memories_.Add(Lesson("a", "ada", 20));
  const auto reader = memories_.ReaderFor("ada", false);
  memories_.Add(Lesson("a", "ada", 25));
  EXPECT_EQ(EntriesFor("ada"), 25U);
  EXPECT_EQ(reader->memory().entries(), 20U) << "a completion keeps what it began with";
  EXPECT_THAT(Names(), ElementsAre("a"));
  memories_.Forget({"a", "never held"});
  EXPECT_EQ(EntriesFor("ada"), 0U);
  EXPECT_EQ(memories_.status().bytes, 0U);
}

TEST_F(LessonMemoriesTest, ManyLessonsAreRememberedAsOneByOne) {
  LessonMemories one_by_one{parameters_, 100, clock_};
  std::vector<RememberedLesson> lessons;
  for (int i = 0; i < 9; ++i) {
    lessons.push_back(Lesson("lesson " + std::to_string(i), i % 3 == 0 ? "" : "ada", 15));
    lessons.back().source = Digest{static_cast<uint8_t>(i)};
    one_by_one.Add(lessons.back());
  }
  memories_.ForgetUser("eve");
  lessons.push_back(Lesson("of an erased user", "eve"));
  lessons.back().read = TimePoint();
  EXPECT_TRUE(memories_.HasRoom("ada", 1));
  EXPECT_THAT(memories_.AddAll(lessons), ElementsAre("lesson 1", "lesson 2", "lesson 4"))
      << "the first ones of who has the most";
  EXPECT_FALSE(memories_.HasRoom("ada", lessons[4].rank));
  EXPECT_TRUE(memories_.HasRoom("ada", lessons[5].rank));
  EXPECT_TRUE(memories_.HasRoom("", 1));
  EXPECT_EQ(memories_.Names(), one_by_one.Names());
  for (const char* user : {"", "ada", "eve"}) {
    EXPECT_EQ(EntriesFor(user), one_by_one.ReaderFor(user, false)->memory().entries());
    EXPECT_EQ(EntriesFor(user, true), one_by_one.ReaderFor(user, true)->memory().entries());
  }
}

TEST_F(LessonMemoriesTest, TheFirstLessonsOfWhoHasTheMostMakeRoom) {
  EXPECT_THAT(memories_.Add(Lesson("a", "ada", 40)), IsEmpty());
  EXPECT_THAT(memories_.Add(Lesson("b", "bob", 30)), IsEmpty());
  EXPECT_THAT(memories_.Add(Lesson("b2", "bob", 20)), IsEmpty());
  EXPECT_THAT(memories_.Add(Lesson("c", "", 30)), ElementsAre("b"));
  EXPECT_THAT(Names(), UnorderedElementsAre("a", "b2", "c"));
  EXPECT_THAT(memories_.Add(Lesson("d", "", 140)), UnorderedElementsAre("a", "b2", "c"))
      << "the last lesson stays, however long it is";
  EXPECT_EQ(EntriesFor("bob"), 140U);
}

TEST_F(LessonMemoriesTest, AFloodOfOneUserPushesOutNobodyElse) {
  memories_.Add(Lesson("a", "ada", 40));
  for (int i = 0; i < 50; ++i) {
    memories_.Add(Lesson("flood " + std::to_string(i), "eve", 20));
  }
  EXPECT_EQ(EntriesFor("ada"), 40U);
  EXPECT_EQ(EntriesFor("eve"), 60U);
  EXPECT_THAT(Names(), UnorderedElementsAre("a", "flood 47", "flood 48", "flood 49"));
  RememberedLesson old = Lesson("old", "eve", 20);
  old.rank = 2;
  EXPECT_THAT(memories_.Add(old), ElementsAre("old")) << "newer ones of the same user stay";
  EXPECT_FALSE(memories_.HasRoom("eve", 2)) << "it is not read again";
  EXPECT_TRUE(memories_.HasRoom("ada", 1));
  memories_.Forget({"a"});
  EXPECT_TRUE(memories_.HasRoom("eve", 2));
}

TEST_F(LessonMemoriesTest, AnErasedUsersLessonThatWasReadBeforeIsNotAdded) {
  memories_.Add(Lesson("a", "ada"));
  const RememberedLesson late = Lesson("b", "ada");
  clock_.Advance(std::chrono::seconds(1));
  memories_.ForgetUser("ada");
  EXPECT_EQ(EntriesFor("ada"), 0U);
  memories_.Add(late);
  EXPECT_EQ(EntriesFor("ada"), 0U);
  clock_.Advance(std::chrono::seconds(1));
  memories_.Add(Lesson("c", "ada"));
  EXPECT_EQ(EntriesFor("ada"), 20U) << "a new lesson of a user who came back";
}

}  // namespace
}  // namespace ruvd::serving
