// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tests/e2e/cluster_fixture.h"

namespace ruvd::cli {
namespace {

using Learning = ClusterTest;

TEST_F(Learning, OneCorrectionServesItsPrompt) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(1));
  const TourLesson& lesson = TourLessons()[0];
  const double before = Loss(0, lesson);
  const std::string pattern = Teach(0, lesson);
  ASSERT_FALSE(pattern.empty());
  const auto finished = Complete(client(0), lesson.prompt, nullptr);
  ASSERT_TRUE(finished.ok()) << finished.status();
  EXPECT_TRUE(std::ranges::any_of(finished->adapters_used(),
                                  [&](const auto& use) { return use.pattern_id() == pattern; }));
  EXPECT_LT(Loss(0, lesson), before);
  EXPECT_DOUBLE_EQ(Loss(0, lesson, /*with_adapters=*/false), before);
}

TEST_F(Learning, UndoTakesACorrectionBack) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(1));
  const TourLesson& lesson = TourLessons()[0];
  const double before = Loss(0, lesson);
  ASSERT_FALSE(Teach(0, lesson).empty());
  ASSERT_LT(Loss(0, lesson), before);
  const Output undo = Ruvd(0, {"undo", "--last"});
  ASSERT_EQ(undo.code, 0) << undo.errors;
  EXPECT_DOUBLE_EQ(Loss(0, lesson), before);
}

TEST_F(Learning, PausedNodesLearnAfterTheyResume) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(1));
  ASSERT_EQ(Ruvd(0, {"learn", "pause"}).code, 0);
  const auto finished = Complete(client(0), TourLessons()[0].prompt, nullptr);
  ASSERT_TRUE(finished.ok()) << finished.status();
  const auto answer = Correct(client(0), finished->response_id(), TourLessons()[0].correction);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->learned());
  ASSERT_EQ(Ruvd(0, {"learn", "resume"}).code, 0);
  const Output round = Ruvd(0, {"learn", "run-background"});
  ASSERT_EQ(round.code, 0) << round.errors;
  const auto patterns = client::AllPatterns(client(0));
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  EXPECT_EQ(patterns->size(), 1U);
}

}  // namespace
}  // namespace ruvd::cli
