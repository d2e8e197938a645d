// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/caller_shares.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace ruvd::actors {
namespace {

using Answer = CallerShares::Answer;

// Returns how many places the caller gets until it is refused, at most `most`.
size_t TakeAll(CallerShares& shares, const std::string& caller, size_t most) {
  size_t taken = 0;
  while (taken < most && shares.Take(caller) == Answer::kTaken) {
    ++taken;
  }
  return taken;
}

TEST(CallerSharesTest, OneCallerGetsFourFifths) {
  CallerShares shares(80);
  EXPECT_EQ(TakeAll(shares, "a", 80), 64U);
  EXPECT_EQ(shares.Take("a"), Answer::kShareUsed);
  EXPECT_EQ(shares.taken(), 64U);
}

TEST(CallerSharesTest, WhoComesLaterGetsMoreAsTheTasksOfTheFirstEnd) {
  CallerShares shares(80);
  size_t first = TakeAll(shares, "a", 80);
  size_t second = TakeAll(shares, "b", 80);
  EXPECT_EQ(second, 13U);
  for (int i = 0; i < 100; ++i) {
    shares.GiveBack("a");
    shares.GiveBack("b");
    // Both have as much to ask as there is room for.
    size_t more = 1;
    for (first -= 1, second -= 1; more != 0;) {
      const size_t of_a = TakeAll(shares, "a", 1);
      const size_t of_b = TakeAll(shares, "b", 1);
      first += of_a;
      second += of_b;
      more = of_a + of_b;
    }
  }
  EXPECT_GE(second, 30U);
  EXPECT_LE(first, 42U);
}

TEST(CallerSharesTest, CallersThatTakeInTurnGetEqualShares) {
  CallerShares shares(80);
  std::vector<size_t> taken(2);
  for (int turn = 0; turn < 80; ++turn) {
    taken[0] += shares.Take("a") == Answer::kTaken ? 1 : 0;
    taken[1] += shares.Take("b") == Answer::kTaken ? 1 : 0;
  }
  EXPECT_EQ(taken[0], taken[1]);
  EXPECT_GE(taken[0], 35U);  // 80 * 4 / 9
}

TEST(CallerSharesTest, AShortQueueIsNotDivided) {
  CallerShares shares(4);
  EXPECT_EQ(TakeAll(shares, "a", 9), 4U);
  EXPECT_EQ(shares.Take("a"), Answer::kFull);
  EXPECT_EQ(shares.Take("b"), Answer::kFull);
}

TEST(CallerSharesTest, WhatIsGivenBackCanBeTakenAgain) {
  CallerShares shares(80);
  ASSERT_EQ(TakeAll(shares, "a", 80), 64U);
  for (int i = 0; i < 64; ++i) {
    shares.GiveBack("a");
  }
  EXPECT_EQ(shares.taken(), 0U);
  EXPECT_EQ(TakeAll(shares, "b", 80), 64U);
}

}  // namespace
}  // namespace ruvd::actors
