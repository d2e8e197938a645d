// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/string_map.h"
#include "base/timer_queue.h"

namespace ruvd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock(1000);
  EXPECT_EQ(clock.Now(), TimePoint());
  EXPECT_EQ(clock.WallMillis(), 1000);
  clock.Advance(milliseconds(1500));
  EXPECT_EQ(clock.Now(), TimePoint(milliseconds(1500)));
  EXPECT_EQ(clock.WallMillis(), 2500);
  clock.StepWall(-2000);
  EXPECT_EQ(clock.Now(), TimePoint(milliseconds(1500))) << "monotonic time never steps";
  EXPECT_EQ(clock.WallMillis(), 500);
}

TEST(SystemClock, NeverRunsBackwardsAndKnowsTheEpoch) {
  const TimePoint before = SystemClock().Now();
  EXPECT_GE(SystemClock().Now(), before);
  EXPECT_GT(SystemClock().WallMillis(), 1'700'000'000'000) << "before November 2023";
}

struct Guarded {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;
};

TEST(Mutex, CondVarHandsAValueOver) {
  Guarded shared;
  std::jthread other([&] {
    MutexLock lock(shared.mutex);
    while (shared.value == 0) {
      shared.changed.Wait(shared.mutex);
    }
    shared.value = 2;
    shared.changed.NotifyAll();
  });
  MutexLock lock(shared.mutex);
  shared.value = 1;
  shared.changed.NotifyOne();
  while (shared.value != 2) {
    shared.changed.Wait(shared.mutex);
  }
  EXPECT_EQ(shared.value, 2);
}

TEST(Mutex, ExcludesOthers) {
  Guarded shared;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        MutexLock lock(shared.mutex);
        ++shared.value;
      }
    });
  }
  threads.clear();
  MutexLock lock(shared.mutex);
  EXPECT_EQ(shared.value, 4000);
}

TEST(CondVar, WaitUntilReportsAPassedDeadline) {
  Guarded shared;
  MutexLock lock(shared.mutex);
  while (shared.changed.WaitUntil(shared.mutex, SystemClock().Now())) {
  }  // true only for a spurious wake-up
}

TEST(Backoff, GrowsToItsMaximumAndResets) {
  Random random(1);
  Backoff backoff({.initial = milliseconds(100), .max = seconds(1)});
  Duration ceiling = milliseconds(100);
  for (int i = 0; i < 100; ++i) {
    const Duration wait = backoff.Next(random);
    EXPECT_GE(wait, Duration::zero());
    EXPECT_LT(wait, ceiling);
    ceiling = std::min<Duration>(ceiling * 2, seconds(1));
  }
  backoff.Reset();
  EXPECT_LT(backoff.Next(random), milliseconds(100));
}

TEST(Backoff, UsesTheWholeRange) {
  Random random(2);
  int low = 0;
  int high = 0;
  for (int i = 0; i < 1000; ++i) {
    Backoff backoff({.initial = seconds(1), .max = seconds(1)});
    const Duration wait = backoff.Next(random);
    low += wait < milliseconds(100) ? 1 : 0;
    high += wait > milliseconds(900) ? 1 : 0;
  }
  EXPECT_NEAR(low, 100, 40);  // four standard deviations
  EXPECT_NEAR(high, 100, 40);
}

TEST(TimerQueue, OrdersByTimeThenByInsertion) {
  TimerQueue queue;
  std::vector<int> order;
  queue.Push(TimePoint(seconds(2)), [&] { order.push_back(3); });
  queue.Push(TimePoint(seconds(1)), [&] { order.push_back(1); });
  queue.Push(TimePoint(seconds(1)), [&] { order.push_back(2); });
  EXPECT_FALSE(queue.PopDue(TimePoint()).has_value());
  EXPECT_EQ(queue.NextDue(), TimePoint(seconds(1)));
  while (auto task = queue.PopDue(TimePoint(seconds(5)))) {
    (*task)();
  }
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST(TimerQueue, CancelledTasksDoNotPileUp) {
  TimerQueue queue;
  size_t largest = 0;
  for (int i = 0; i < 10'000; ++i) {
    queue.Push(TimePoint(seconds(i)), [] {}).Cancel();
    largest = std::max(largest, queue.size());
    (void)queue.TakeCancelled();
  }
  EXPECT_LE(largest, 64u);
  EXPECT_FALSE(queue.NextDue().has_value());
}

TEST(TimerQueue, ATaskCancelledAfterItBecameDueDoesNotRun) {
  TimerQueue queue;
  bool ran = false;
  TimerHandle handle = queue.Push(TimePoint(), [&] { ran = true; });
  const auto task = queue.PopDue(TimePoint());
  handle.Cancel();
  (*task)();
  EXPECT_FALSE(ran);
}

TEST(StringMap, IsSearchedWithAView) {
  StringMap<int> map;
  map["key"] = 3;
  const std::string_view view = "key and more";
  EXPECT_EQ(map.find(view.substr(0, 3))->second, 3);
  EXPECT_EQ(map.find(view), map.end());
}

}  // namespace
}  // namespace ruvd
