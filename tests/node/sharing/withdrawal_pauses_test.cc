// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/withdrawal_pauses.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "node/limits.h"

namespace ruvd::sharing {
namespace {

constexpr Duration kFirst = limits::kWithdrawalPause;
constexpr Duration kLongest = limits::kLongestWithdrawalPause;
constexpr privacy::NodeId kGiver{1};
constexpr privacy::NodeId kOther{2};

TEST(WithdrawalPauses, LeaveOutOneNodeForAWhile) {
  WithdrawalPauses pauses;
  const TimePoint start{};
  EXPECT_EQ(pauses.NextEnd(start), std::nullopt);
  pauses.RecordWithdrawal(kGiver, start);
  EXPECT_TRUE(pauses.IsPaused(kGiver, start));
  EXPECT_FALSE(pauses.IsPaused(kOther, start));
  EXPECT_EQ(pauses.NextEnd(start), start + kFirst);
  EXPECT_FALSE(pauses.IsPaused(kGiver, start + kFirst));
  EXPECT_EQ(pauses.NextEnd(start + kFirst), std::nullopt);
}

TEST(WithdrawalPauses, GetLongerForWhoeverDoesItAgainAndFade) {
  WithdrawalPauses pauses;
  TimePoint now{};
  Duration expected = kFirst;
  for (int i = 0; i < 20; ++i) {
    pauses.RecordWithdrawal(kGiver, now);
    EXPECT_EQ(pauses.NextEnd(now), now + expected);
    now += expected;
    expected = std::min(2 * expected, kLongest);
  }
  EXPECT_EQ(expected, kLongest);
  now += kLongest;
  pauses.RecordWithdrawal(kGiver, now);
  EXPECT_EQ(pauses.NextEnd(now), now + kFirst);
}

TEST(WithdrawalPauses, TheFirstThatEndsIsNext) {
  WithdrawalPauses pauses;
  const TimePoint start{};
  pauses.RecordWithdrawal(kGiver, start);
  pauses.RecordWithdrawal(kOther, start + kFirst / 2);
  EXPECT_EQ(pauses.NextEnd(start + kFirst / 2), start + kFirst);
  EXPECT_EQ(pauses.NextEnd(start + kFirst), start + kFirst + kFirst / 2);
}

}  // namespace
}  // namespace ruvd::sharing
