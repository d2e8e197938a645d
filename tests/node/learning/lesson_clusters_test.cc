// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which lessons teach and which only measure.

#include "node/learning/lesson_clusters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace ruvd::learning {
namespace {

std::vector<Lesson> Lessons(size_t old, size_t fresh) {
  std::vector<Lesson> lessons;
  for (size_t i = 0; i < old + fresh; ++i) {
    Lesson lesson{.trajectory = {.response_id = fmt::format("lesson {}", i)},
                  .target = "text",
                  .fresh = i >= old};
    lessons.push_back(lesson);
  }
  return lessons;
}

std::vector<const Lesson*> Pointers(const std::vector<Lesson>& lessons) {
  std::vector<const Lesson*> pointers;
  for (const Lesson& lesson : lessons) {
    pointers.push_back(&lesson);
  }
  return pointers;
}

TEST(LessonClustersTest, AQuarterOfFourLessonsAndMoreIsHeldBack) {
  for (size_t count = 1; count <= 17; ++count) {
    const std::vector<Lesson> lessons = Lessons(0, count);
    const LessonSplit split = HoldBackLessons(Pointers(lessons));
    EXPECT_EQ(split.held_back.size(), count / 4);
    EXPECT_EQ(split.taught.size() + split.held_back.size(), count);
    std::set<const Lesson*> all(split.taught.begin(), split.taught.end());
    all.insert(split.held_back.begin(), split.held_back.end());
    EXPECT_EQ(all.size(), count) << "each lesson once";
  }
}

// A user who corrects a completion waits for that to be learned.
TEST(LessonClustersTest, WhatWasLearnedBeforeIsHeldBackFirst) {
  const std::vector<Lesson> lessons = Lessons(2, 6);
  const LessonSplit split = HoldBackLessons(Pointers(lessons));
  ASSERT_EQ(split.held_back.size(), 2u);
  EXPECT_FALSE(split.held_back[0]->fresh);
  EXPECT_FALSE(split.held_back[1]->fresh);
}

TEST(LessonClustersTest, TheSameLessonsAreHeldBackInWhateverOrderTheyCome) {
  const std::vector<Lesson> lessons = Lessons(9, 3);
  std::vector<const Lesson*> pointers = Pointers(lessons);
  const LessonSplit split = HoldBackLessons(pointers);
  std::ranges::reverse(pointers);
  EXPECT_EQ(HoldBackLessons(pointers).held_back, split.held_back);
}

TEST(LessonClustersTest, AnEditIsWantedBeforeWhatWasRatedAndALowRatingIsNot) {
  storage::Trajectory trajectory{.completion = "completion"};
  EXPECT_EQ(TargetText(trajectory, 0.7F), "");
  trajectory.rating = 0.6F;
  EXPECT_EQ(TargetText(trajectory, 0.7F), "");
  trajectory.rating = 0.7F;
  EXPECT_EQ(TargetText(trajectory, 0.7F), "completion");
  trajectory.edited_text = "edit";
  EXPECT_EQ(TargetText(trajectory, 0.7F), "edit");
}

}  // namespace
}  // namespace ruvd::learning
