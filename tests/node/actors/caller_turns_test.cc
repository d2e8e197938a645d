// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/caller_turns.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "node/limits.h"

namespace ruvd::actors {
namespace {

std::vector<TaskOfCaller> Tasks(size_t count, const char* caller, bool is_score = false) {
  return std::vector<TaskOfCaller>(count, {.caller = caller, .is_score = is_score});
}

// Returns the callers of `waiting` in the order in which they begin, beside what runs.
std::string Order(CallerTurns& turns, std::vector<TaskOfCaller> running,
                  std::vector<TaskOfCaller> waiting) {
  std::string order;
  while (const std::optional<size_t> next = turns.Next(running, waiting)) {
    order += waiting[*next].caller;
    running.push_back(waiting[*next]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(*next));
  }
  return order;
}

TEST(CallerTurnsTest, OneCallersTasksBeginInTheirOrder) {
  CallerTurns turns;
  EXPECT_EQ(turns.Next({}, Tasks(3, "a")), 0U);
}

TEST(CallerTurnsTest, CallersTakeTurnsBeforeArrivalCounts) {
  CallerTurns turns;
  std::vector<TaskOfCaller> waiting = Tasks(6, "a");
  waiting.push_back({.caller = "b"});
  waiting.push_back({.caller = "b"});
  EXPECT_EQ(Order(turns, {}, waiting), "ababaaaa");
}

TEST(CallerTurnsTest, WhereBothHaveAsManyTheOneWhoseTurnIsLongestAgoIsNext) {
  CallerTurns turns;
  const std::vector<TaskOfCaller> waiting = {{.caller = "a"}, {.caller = "b"}};
  EXPECT_EQ(turns.Next({}, waiting), 0U);  // neither had a turn: who came first
  // The task of a ended at once.
  EXPECT_EQ(turns.Next({}, waiting), 1U);
  EXPECT_EQ(turns.Next({}, waiting), 0U);
}

// Found by review: a caller without a task was forgotten, and came back before all that waited.
TEST(CallerTurnsTest, CallersThatComeAndGoKeepNoTaskWaitingForEver) {
  CallerTurns turns;
  std::vector<std::string> names;
  for (size_t i = 0; i < 2 * limits::kMaxRunningForNewCallers; ++i) {
    names.push_back("caller " + std::to_string(i));
  }
  // All places are taken. With each turn one task ends, its caller asks again, and "a" still waits.
  std::vector<TaskOfCaller> running;
  size_t next_name = 0;
  for (; running.size() < limits::kMaxRunningForNewCallers; ++next_name) {
    const std::vector<TaskOfCaller> waiting = {{.caller = names[next_name]}};
    ASSERT_TRUE(turns.Next(running, waiting));
    running.push_back(waiting[0]);
  }
  bool began = false;
  for (size_t turn = 0; turn < names.size() && !began; ++turn) {
    running.erase(running.begin());
    const std::vector<TaskOfCaller> waiting = {{.caller = names[next_name++ % names.size()]},
                                               {.caller = "a"}};
    const std::optional<size_t> next = turns.Next(running, waiting);
    ASSERT_TRUE(next);
    running.push_back(waiting[*next]);
    began = *next == 1;
  }
  EXPECT_TRUE(began);
}

TEST(CallerTurnsTest, ANewCallerFindsAPlaceBesideAFullHouse) {
  CallerTurns turns;
  const std::vector<TaskOfCaller> full = Tasks(limits::kMaxRunningGenerations, "a");
  EXPECT_EQ(turns.Next(full, Tasks(1, "a")), std::nullopt);
  std::vector<TaskOfCaller> waiting = Tasks(1, "a");
  waiting.push_back({.caller = "b"});
  waiting.push_back({.caller = "b"});
  EXPECT_EQ(Order(turns, full, waiting), "b");
}

TEST(CallerTurnsTest, ThePlacesForNewCallersAreLimited) {
  CallerTurns turns;
  std::vector<std::string> names;
  for (size_t i = 0; i < limits::kMaxRunningForNewCallers + 4; ++i) {
    names.push_back("caller " + std::to_string(i));
  }
  std::vector<TaskOfCaller> running;
  std::vector<TaskOfCaller> waiting;
  for (const std::string& name : names) {
    waiting.push_back({.caller = name});
  }
  while (const std::optional<size_t> next = turns.Next(running, waiting)) {
    running.push_back(waiting[*next]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(*next));
  }
  EXPECT_EQ(running.size(), limits::kMaxRunningForNewCallers);
}

TEST(CallerTurnsTest, ScoresLeavePlacesToOthersOfTheirCaller) {
  CallerTurns turns;
  std::vector<TaskOfCaller> waiting = Tasks(4, "a", /*is_score=*/true);
  waiting.push_back({.caller = "a"});
  EXPECT_EQ(Order(turns, {}, waiting).size(), limits::kMaxRunningScores + 1);
}

}  // namespace
}  // namespace ruvd::actors
