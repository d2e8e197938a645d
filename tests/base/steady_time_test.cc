// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/steady_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace ruvd {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr int64_t kNow = 1'700'000'000'000;
constexpr int64_t kDay = 86'400'000;

TEST(MonotonicTimestampsTest, GoesOnWhereTheWallClockWentBack) {
  MonotonicTimestamps time(kNow);
  EXPECT_EQ(time.Next(kNow + 5), kNow + 5);
  EXPECT_EQ(time.Next(kNow + 5), kNow + 6);
  EXPECT_EQ(time.Next(kNow - kDay), kNow + 7);
  EXPECT_EQ(time.Next(kNow + 100), kNow + 100);
}

TEST(MonotonicTimestampsTest, AClockThatWasNeverSetIsNotBelieved) {
  MonotonicTimestamps time(kNow);
  EXPECT_EQ(time.Next(0), kNow + 1);
  EXPECT_EQ(time.Next(3 * kDay), kNow + 2);
}

TEST(MonotonicTimestampsTest, AClockThatRanFarAheadIsCorrected) {
  MonotonicTimestamps time(kNow + 70 * 365 * kDay);
  EXPECT_EQ(time.Next(kNow), kNow);
  EXPECT_EQ(time.Next(kNow + 1), kNow + 1);
}

RC_GTEST_PROP(MonotonicTimestampsTest, NeverRepeatsWithinTwoDaysBack, ()) {
  const auto steps =
      *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(-kDay, kDay));
  MonotonicTimestamps time(0);
  int64_t now = kNow;
  int64_t last = 0;
  for (const int64_t step : steps) {
    now = std::max(now + step, last - kDay);
    const int64_t next = time.Next(now);
    RC_ASSERT(next > last);
    last = next;
  }
}

TEST(WallClockTrustTest, AStepIsTrustedAfterAnHour) {
  ManualClock clock;
  WallClockTrust trust(clock);
  EXPECT_TRUE(trust.Trusted());
  clock.Advance(hours(100));
  EXPECT_TRUE(trust.Trusted());
  clock.StepWall(30 * kDay);
  EXPECT_FALSE(trust.Trusted());
  EXPECT_EQ(trust.step_ms(), 30 * kDay);
  clock.Advance(minutes(59));
  EXPECT_FALSE(trust.Trusted());
  EXPECT_EQ(trust.step_ms(), 0);
  clock.Advance(minutes(1));
  EXPECT_TRUE(trust.Trusted());
  clock.StepWall(-30 * kDay);
  EXPECT_FALSE(trust.Trusted());
}

TEST(WallClockTrustTest, SlewingIsNoStep) {
  ManualClock clock;
  WallClockTrust trust(clock);
  for (int i = 0; i < 100; ++i) {
    clock.Advance(minutes(1));
    clock.StepWall(1000);
    EXPECT_TRUE(trust.Trusted());
  }
}

}  // namespace
}  // namespace ruvd
