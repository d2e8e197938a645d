// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/log/log_limit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace ruvd {
namespace {

TEST(LogLimitTest, LetsSomeLinesOfEachPeriodThroughAndCountsTheOthers) {
  const uint64_t left_out = LogLimit::left_out_of_all();
  ManualClock clock;
  LogLimit limit(clock, 2, std::chrono::seconds(60));
  EXPECT_EQ(limit.Admit("A"), 0U);
  clock.Advance(std::chrono::seconds(30));
  EXPECT_EQ(limit.Admit("A"), 0U);
  for (int line = 0; line < 5; ++line) {
    EXPECT_EQ(limit.Admit("A"), std::nullopt);
  }
  clock.Advance(std::chrono::seconds(30));
  EXPECT_EQ(limit.Admit("A"), 5U) << "the next period tells what was left out";
  EXPECT_EQ(limit.Admit("A"), 0U);
  EXPECT_EQ(limit.Admit("A"), std::nullopt);
  EXPECT_EQ(limit.Admit("B"), 0U) << "one kind hides no other";
  clock.StepWall(-86'400'000);
  EXPECT_EQ(limit.Admit("A"), std::nullopt) << "the wall clock has no part in it";
  clock.Advance(std::chrono::hours(5));
  EXPECT_EQ(limit.Admit("A"), 2U);
  EXPECT_EQ(LogLimit::left_out_of_all() - left_out, 7U);
}

TEST(LogLimitTest, TheEndOfALineSaysHowManyAreMissing) {
  EXPECT_EQ(LeftOut(0), "");
  EXPECT_EQ(LeftOut(17), " (17 such lines before it were left out)");
}

}  // namespace
}  // namespace ruvd
