// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/sim_executor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <set>
#include <vector>

namespace ruvd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Outcome {
  std::vector<int> order;
  uint64_t hash;
  bool operator==(const Outcome&) const = default;
};

// A small tree of tasks and timers, with so many choices that two seeds hardly agree by chance.
Outcome RunTree(uint64_t seed) {
  SimExecutor sim(seed);
  Outcome outcome;
  for (int i = 0; i < 8; ++i) {
    sim.Post([&, i] {
      outcome.order.push_back(i);
      sim.Trace(static_cast<uint64_t>(i));
      sim.PostAt(sim.clock().Now() + milliseconds(i % 3),
                 [&, i] { outcome.order.push_back(100 + i); });
    });
  }
  EXPECT_TRUE(sim.RunUntilIdle());
  outcome.hash = sim.trace_hash();
  return outcome;
}

RC_GTEST_PROP(SimExecutor, SameSeedSameTrace, (uint64_t seed)) {
  RC_ASSERT(RunTree(seed) == RunTree(seed));
}

TEST(SimExecutor, DifferentSeedsExploreDifferentOrders) {
  std::set<std::vector<int>> orders;
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Outcome outcome = RunTree(seed);
    EXPECT_EQ(outcome.order.size(), 16u);
    orders.insert(outcome.order);
    hashes.insert(outcome.hash);
  }
  EXPECT_GT(orders.size(), 95u);
  EXPECT_EQ(hashes.size(), orders.size());
}

TEST(SimExecutor, TraceHashSeesTheTagsOfATask) {
  const auto hash = [](uint64_t tag) {
    SimExecutor sim(1);
    sim.Post([&] { sim.Trace(tag); });
    sim.RunUntilIdle();
    return sim.trace_hash();
  };
  EXPECT_EQ(hash(1), hash(1));
  EXPECT_NE(hash(1), hash(2));
}

TEST(SimExecutor, TimeJumpsOnlyWhenNothingIsReady) {
  SimExecutor sim(7);
  std::vector<milliseconds> times;
  const auto record = [&] {
    times.push_back(std::chrono::duration_cast<milliseconds>(sim.clock().Now().time_since_epoch()));
  };
  sim.PostAt(TimePoint(seconds(5)), record);
  sim.Post([&] {
    record();
    sim.Post(record);
  });
  EXPECT_TRUE(sim.RunUntilIdle());
  EXPECT_EQ(times, (std::vector<milliseconds>{milliseconds(0), milliseconds(0), seconds(5)}));
  EXPECT_EQ(sim.tasks_run(), 3u);
}

TEST(SimExecutor, ControlTasksRunFirst) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SimExecutor sim(seed);
    bool control_ran = false;
    for (int i = 0; i < 5; ++i) {
      sim.Post([&] { EXPECT_TRUE(control_ran); });
    }
    sim.Post([&] { control_ran = true; }, Priority::kControl);
    sim.RunUntilIdle();
  }
}

TEST(SimExecutor, CancelledTimersNeitherRunNorMoveTime) {
  SimExecutor sim(3);
  TimerHandle timer = sim.PostAt(TimePoint(seconds(9)), [] { FAIL(); });
  timer.Cancel();
  EXPECT_TRUE(sim.RunUntilIdle());
  EXPECT_EQ(sim.clock().Now(), TimePoint());
}

TEST(SimExecutor, ATaskMayCancelATimerThatIsDueAtTheSameInstant) {
  int ran = 0;
  SimExecutor sim(3);
  TimerHandle a;
  TimerHandle b;
  a = sim.PostAt(TimePoint(seconds(1)), [&] { ++ran, b.Cancel(); });
  b = sim.PostAt(TimePoint(seconds(1)), [&] { ++ran, a.Cancel(); });
  sim.RunUntilIdle();
  EXPECT_EQ(ran, 1);
}

TEST(SimExecutor, RunForStopsAtItsEnd) {
  SimExecutor sim(3);
  int ran = 0;
  sim.PostAt(TimePoint(seconds(1)), [&] { ++ran; });
  sim.PostAt(TimePoint(seconds(3)), [&] { ++ran; });
  sim.RunFor(seconds(2));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(sim.clock().Now(), TimePoint(seconds(2)));
  EXPECT_EQ(sim.clock().WallMillis(), 1'700'000'002'000);
  sim.RunFor(seconds(1));
  EXPECT_EQ(ran, 2);
}

TEST(SimExecutor, RunUntilGivesUpOnAnEndlessOrIdleWorld) {
  SimExecutor sim(3);
  EXPECT_FALSE(sim.RunUntil([] { return false; }));
  std::function<void()> forever = [&] {
    sim.PostAt(sim.clock().Now() + seconds(1), [&] { forever(); });
  };
  forever();
  EXPECT_FALSE(sim.RunUntilIdle(100));
  EXPECT_FALSE(sim.RunUntil([] { return false; }, 100));
  EXPECT_TRUE(sim.RunUntil([&] { return sim.clock().Now() >= TimePoint(seconds(500)); }));
}

}  // namespace
}  // namespace ruvd
