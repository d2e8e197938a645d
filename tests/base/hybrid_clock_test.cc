// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/hybrid_clock.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "base/steady_time.h"

namespace ruvd {
namespace {

TEST(HybridClockTest, FollowsTheWallClockAndCountsWithinAMillisecond) {
  ManualClock wall(5000);
  HybridClock clock(wall);
  EXPECT_EQ(clock.Now().packed, uint64_t{5000} << 16);
  EXPECT_EQ(clock.Now().packed, (uint64_t{5000} << 16) + 1);
  wall.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(clock.Now().packed, uint64_t{5001} << 16);
  EXPECT_EQ(clock.Now().wall_ms(), 5001);
}

TEST(HybridClockTest, NeverGoesBack) {
  ManualClock wall(5000);
  HybridClock clock(wall);
  HybridTime last = clock.Now();
  wall.StepWall(-4000);
  for (int i = 0; i < 70'000; ++i) {  // more than a counter holds
    const HybridTime next = clock.Now();
    ASSERT_LT(last, next);
    last = next;
  }
  EXPECT_EQ(last.wall_ms(), 5001);
}

TEST(HybridClockTest, GivesLaterStampsThanItSaw) {
  ManualClock wall(5000);
  HybridClock clock(wall);
  const HybridTime ahead{uint64_t{9000} << 16 | 7};
  clock.Observe(ahead);
  EXPECT_EQ(clock.last(), ahead);
  clock.Observe({uint64_t{100} << 16});
  EXPECT_EQ(clock.Now().packed, ahead.packed + 1);
}

TEST(HybridClockTest, SaysWhatTimeItIsUnlessTheWallClockCannotKnow) {
  constexpr int64_t kNow = MonotonicTimestamps::kFirstPossibleMs + 1'000'000'000'000;
  constexpr int64_t kBridge = MonotonicTimestamps::kMaxBridge.count();
  ManualClock wall(kNow);
  HybridClock clock(wall);
  EXPECT_EQ(clock.WallMillis(), kNow) << "no stamp yet";
  clock.Now();
  wall.StepWall(-kBridge);
  EXPECT_EQ(clock.WallMillis(), kNow) << "a step back";
  wall.StepWall(-1);
  EXPECT_EQ(clock.WallMillis(), kNow - kBridge - 1) << "the stamp was of a wrong clock";
  wall.StepWall(-(kNow - kBridge - 1));
  EXPECT_EQ(clock.WallMillis(), kNow) << "a clock that was never set";
}

TEST(HybridClockTest, ThreadsNeverShareAStamp) {
  ManualClock wall(5000);
  HybridClock clock(wall);
  std::vector<std::vector<uint64_t>> given(3);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : given) {
      threads.emplace_back([&clock, &mine] {
        for (int i = 0; i < 1000; ++i) {
          mine.push_back(clock.Now().packed);
        }
      });
    }
  }
  std::set<uint64_t> all;
  for (const auto& mine : given) {
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), 3000U);
}

}  // namespace
}  // namespace ruvd
