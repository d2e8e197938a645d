// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace ruvd {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Holds the only thread of a pool until released, so that a test can fill the queue behind it.
class Gate {
 public:
  explicit Gate(ThreadPool& pool) {
    pool.Post([this] {
      entered_.set_value();
      open_.get_future().wait();
    });
    entered_.get_future().wait();
  }
  void Open() { open_.set_value(); }

 private:
  std::promise<void> entered_;
  std::promise<void> open_;
};

TEST(ThreadPool, RunsEveryPostedTaskBeforeShutdownReturns) {
  std::atomic<int> ran = 0;
  ThreadPool pool({.name = "test", .threads = 4});
  for (int i = 0; i < 2000; ++i) {
    pool.Post([&] {
      ++ran;
      pool.Post([&] { ++ran; });
    });
  }
  pool.Shutdown();
  EXPECT_EQ(ran, 4000);
  EXPECT_EQ(pool.dropped(), 0u);
}

TEST(ThreadPool, ControlTasksOvertakeNormalOnes) {
  ThreadPool pool({.name = "test", .threads = 1});
  std::vector<int> order;
  Gate gate(pool);
  for (int i = 0; i < 3; ++i) {
    pool.Post([&order, i] { order.push_back(i); });
    pool.Post([&order, i] { order.push_back(10 + i); }, Priority::kControl);
  }
  gate.Open();
  pool.Shutdown();
  EXPECT_EQ(order, (std::vector<int>{10, 11, 12, 0, 1, 2}));
}

TEST(ThreadPool, TimersFireInDueOrderAndNotEarly) {
  ThreadPool pool({.name = "test", .threads = 1});
  const TimePoint start = pool.clock().Now();
  std::vector<int> order;
  std::promise<TimePoint> last;
  Gate gate(pool);
  pool.PostAt(start + milliseconds(3), [&] { last.set_value(pool.clock().Now()); });
  pool.PostAt(start + milliseconds(2), [&] { order.push_back(2); });
  pool.PostAt(start + milliseconds(1), [&] { order.push_back(1); });
  gate.Open();
  EXPECT_GE(last.get_future().get(), start + milliseconds(3));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(ThreadPool, AnEarlierTimerWakesSleepersThatWaitForALaterOne) {
  ThreadPool pool({.name = "test", .threads = 3});
  std::promise<void> fired;
  pool.PostAt(pool.clock().Now() + hours(1), [] { FAIL() << "fired an hour early"; });
  pool.PostAt(pool.clock().Now() + milliseconds(1), [&] { fired.set_value(); });
  fired.get_future().wait();
}

TEST(ThreadPool, CancelledAndUnfiredTimersDoNotRun) {
  std::atomic<int> ran = 0;
  ThreadPool pool({.name = "test", .threads = 2});
  for (int i = 0; i < 500; ++i) {  // enough for the sweep of cancelled entries
    pool.PostAt(pool.clock().Now() + hours(1), [&] { ++ran; }).Cancel();
  }
  pool.PostAt(pool.clock().Now() + hours(1), [&] { ++ran; });
  pool.Shutdown();
  EXPECT_EQ(ran, 0);
}

TEST(ThreadPool, DropsAndCountsWhatIsPostedAfterShutdown) {
  ThreadPool pool({.name = "test", .threads = 1});
  pool.Shutdown();
  pool.Post([] { FAIL(); });
  pool.PostAt(TimePoint(), [] { FAIL(); });
  pool.Shutdown();
  EXPECT_EQ(pool.dropped(), 2u);
}

TEST(ThreadPool, AThrowingTaskIsReportedAndTheWorkerLives) {
  std::vector<std::string> reports;
  std::atomic<int> ran = 0;
  ThreadPool pool({.name = "test", .threads = 1, .on_exception = [&](std::string_view what) {
                     reports.emplace_back(what);
                   }});
  pool.Post([] { throw std::runtime_error("disk on fire"); });
  pool.Post([] { throw 7; });
  pool.Post([&] { ++ran; });
  pool.Shutdown();
  EXPECT_EQ(ran, 1);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0], "disk on fire");
}

TEST(ThreadPool, NamesItsThreadsAndLowersTheirPriority) {
  std::promise<std::pair<std::string, int>> seen;
  ThreadPool pool({.name = "a-very-long-pool-name", .threads = 1, .low_priority = true});
  pool.Post([&] {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof(name));
    seen.set_value({name, getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()))});
  });
  const auto [name, nice] = seen.get_future().get();
  EXPECT_EQ(name, "a-very-long-p/0");
  EXPECT_GT(nice, getpriority(PRIO_PROCESS, 0));
}

TEST(ThreadPool, AClosureMayPostFromItsDestructor) {
  struct PostsOnDeath {
    ThreadPool& pool;
    std::atomic<int>& ran;
    ~PostsOnDeath() {
      pool.Post([&counter = ran] { ++counter; });
    }
  };
  std::atomic<int> ran = 0;
  ThreadPool pool({.name = "test", .threads = 1});
  auto guard = std::make_shared<PostsOnDeath>(pool, ran);
  TimerHandle timer = pool.PostAt(pool.clock().Now() + hours(1), [guard] {});
  pool.Post([guard = std::move(guard)] {});
  timer.Cancel();
  pool.PostAt(pool.clock().Now(), [] {});  // moves the cancelled entry out of the way
  pool.Post([] {});
  pool.Shutdown();
  EXPECT_LE(ran, 1);
}

}  // namespace
}  // namespace ruvd
