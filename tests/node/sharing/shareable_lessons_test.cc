// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests from which lessons something may leave the node.

#include "node/sharing/shareable_lessons.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "node/learning/evaluation_lessons.h"
#include "tests/node/sharing/round_lessons_fixture.h"

namespace ruvd::sharing {
namespace {

using privacy::ConsentTier;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class ShareableLessonsTest : public RoundLessonsTest {
 protected:
  ShareableLessons Gather(ConsentTier tier) {
    const auto found = GatherShareableLessons(Services(), tier, 0.7F, clock_.WallMillis());
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(ShareableLessons());
  }
  // Returns the users of the lessons that may leave, once for each lesson.
  std::multiset<std::string> Users(ConsentTier tier) {
    const ShareableLessons found = Gather(tier);
    std::multiset<std::string> users;
    for (const ShareableLesson& lesson : found.lessons) {
      users.insert(UserOf(found.contributors.at(lesson.contributor)));
    }
    return users;
  }
  std::string UserOf(const privacy::Contributor& contributor) const {
    for (const char* user : {"", "ann", "bob", "cat"}) {
      if (book_->ContributorOf({.user_id = user}).user == contributor.user) {
        return user;
      }
    }
    return "unknown";
  }
};

TEST_F(ShareableLessonsTest, AUserDecidesAboutCompletionsAndTexts) {
  Say("ann", ConsentTier::kDp);
  Say("bob", ConsentTier::kPublic);
  for (const char* user : {"", "ann", "bob", "cat"}) {
    AddCompletion(user);
    AddTexts("notes", 1, user);
  }
  EXPECT_THAT(Gather(ConsentTier::kPrivate).lessons, IsEmpty());
  EXPECT_THAT(Users(ConsentTier::kPublic), UnorderedElementsAre("", "", "bob", "bob"));
  EXPECT_THAT(Users(ConsentTier::kDp), UnorderedElementsAre("", "", "ann", "ann", "bob", "bob"));
  const ShareableLessons found = Gather(ConsentTier::kDp);
  EXPECT_EQ(found.left_out, 2U);
  EXPECT_EQ(found.contributors.size(), 3U);
  clock_.Advance(std::chrono::seconds(1));
  ASSERT_TRUE(book_->Withdraw("ann", clock_.WallMillis()).ok());
  EXPECT_THAT(Users(ConsentTier::kDp), UnorderedElementsAre("", "", "bob", "bob"));
}

TEST_F(ShareableLessonsTest, ATextMayHaveAStricterTier) {
  for (const ConsentTier tier :
       {ConsentTier::kPrivate, ConsentTier::kMasked, ConsentTier::kDp, ConsentTier::kPublic}) {
    AddTexts(fmt::format("tier {}", static_cast<int>(tier)), 1, "", static_cast<uint32_t>(tier));
  }
  EXPECT_EQ(Gather(ConsentTier::kPublic).lessons.size(), 1U);
  EXPECT_EQ(Gather(ConsentTier::kDp).lessons.size(), 2U);
  EXPECT_EQ(Gather(ConsentTier::kMasked).lessons.size(), 3U);
  EXPECT_EQ(Gather(ConsentTier::kDp).left_out, 2U);
}

TEST_F(ShareableLessonsTest, LessonsThatJudgeAndThatTeachNothingAreLeftOut) {
  const std::string taught = AddCompletion("");
  AddCompletion("", /*judges=*/true);
  ASSERT_TRUE(
      trajectories_->Put({.response_id = "no feedback", .prompt = "p", .completion = "c"}).ok());
  const ShareableLessons found = Gather(ConsentTier::kDp);
  ASSERT_EQ(found.lessons.size(), 1U);
  EXPECT_EQ(found.lessons[0].name, taught);
  AddTexts("book", 400, "", 0, /*with_judges=*/true);
  const ShareableLessons texts = Gather(ConsentTier::kDp);
  EXPECT_NEAR(static_cast<double>(texts.lessons.size()), 300, 50);
  for (const ShareableLesson& lesson : texts.lessons) {
    EXPECT_FALSE(learning::IsEvaluationLesson(lesson.name));
  }
  EXPECT_EQ(texts.left_out, 0U);
}

TEST_F(ShareableLessonsTest, WithoutABookOnlyOpenSharingIsPossible) {
  AddCompletion("ann");
  book_.reset();
  EXPECT_EQ(Gather(ConsentTier::kPublic).lessons.size(), 1U);
  EXPECT_THAT(Gather(ConsentTier::kDp).lessons, IsEmpty());
}

// A pattern may be deleted because of other lessons, and then one lesson would decide about
// another.
TEST_F(ShareableLessonsTest, UnderDpOnlyTheLessonItselfDecides) {
  const std::string name = AddCompletion("");
  const storage::Trajectory stored = trajectories_->Get(name).value();
  ASSERT_TRUE(
      trajectories_->SetLearned(stored, AsText(kRoundLessonsPackage), storage::PatternId{1, 2, 3})
          .ok());
  EXPECT_THAT(Gather(ConsentTier::kPublic).lessons, IsEmpty());
  EXPECT_EQ(Gather(ConsentTier::kDp).lessons.size(), 1U);
}

// Neighbours are stores of which one has a request that teaches where that of the other was rated
// badly. If a full store dropped first what teaches nothing, noise for one lesson would not hide
// it.
TEST_F(ShareableLessonsTest, UnderDpWhatARequestSaysDisplacesNoOther) {
  OpenTrajectories(/*capacity=*/8, /*without_feedback=*/10);
  // Returns which of the newest requests may leave, but for one.
  const auto others = [this](bool teaches, size_t hers) {
    std::vector<std::string> names;
    for (size_t i = 0; i < 10; ++i) {
      names.push_back(AddRequest(""));
    }
    for (const size_t place : {2, 3, 4, 5, 6, 7, 8, 9, 1}) {  // the last one displaces a newer one
      const float rating = place == hers && !teaches ? 0.0F : 1.0F;
      EXPECT_TRUE(trajectories_->SetFeedback(names[place], {.rating = rating}).ok());
    }
    std::set<size_t> places;
    for (const ShareableLesson& lesson : Gather(ConsentTier::kDp).lessons) {
      places.insert(std::ranges::find(names, lesson.name) - names.begin());
    }
    places.erase(hers);
    return places;
  };
  for (const size_t hers : {1, 3, 6, 7, 8, 9}) {
    const std::set<size_t> where_it_teaches = others(true, hers);
    EXPECT_GE(where_it_teaches.size(), 3U);
    EXPECT_EQ(where_it_teaches, others(false, hers)) << hers;
  }
}

TEST_F(ShareableLessonsTest, RequestsThatMayBeDisplacedSoonAreLeftOut) {
  OpenTrajectories(/*capacity=*/8, /*without_feedback=*/4);
  std::vector<std::string> names;
  for (int i = 0; i < 8; ++i) {
    names.push_back(AddCompletion(""));
    clock_.Advance(std::chrono::seconds(1));
  }
  // Requests without feedback displace none of them, so they do not count.
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(
        trajectories_
            ->Put({.response_id = "plain-" + std::to_string(i), .created_ms = clock_.WallMillis()})
            .ok());
  }
  EXPECT_EQ(trajectories_->size(), 12U);
  for (const ConsentTier tier : {ConsentTier::kPublic, ConsentTier::kDp}) {
    const ShareableLessons found = Gather(tier);
    ASSERT_EQ(found.lessons.size(), 4U) << "half of the store may be displaced during a round";
    EXPECT_EQ(found.lessons[0].name, names[4]);
  }
  // An expert leaves with the lessons that it learned, however long ago.
  const auto all =
      GatherShareableLessons(Services(), ConsentTier::kPublic, 0.7F, clock_.WallMillis(),
                             LessonUse::kTraining, DisplacedSoon::kKept);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->lessons.size(), 8U);
}

TEST_F(ShareableLessonsTest, EndsWhenLearningEnds) {
  AddTexts("notes", 3);
  cancelled_ = [] { return true; };
  EXPECT_EQ(ReasonOf(GatherShareableLessons(Services(), ConsentTier::kDp, 0.7F, 1).status()),
            reasons::kCancelled);
}

}  // namespace
}  // namespace ruvd::sharing
