// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/parallel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace ruvd {
namespace {

// Every item is visited exactly once and no range is longer than the grain.
void ExpectCovers(ParallelRunner& runner, size_t count, size_t grain) {
  std::vector<std::atomic<int>> visits(count);
  std::atomic<bool> too_long = false;
  runner.For(count, grain, [&](size_t begin, size_t end) {
    too_long = too_long || end - begin > std::max<size_t>(grain, 1) || begin >= end;
    for (size_t i = begin; i < end; ++i) {
      ++visits[i];
    }
  });
  RC_ASSERT(!too_long);
  for (const auto& v : visits) {
    RC_ASSERT(v.load() == 1);
  }
}

RC_GTEST_PROP(SerialRunner, CoversEveryItemOnce, ()) {
  ExpectCovers(SerialRunner(), *rc::gen::inRange<size_t>(0, 300),
               *rc::gen::inRange<size_t>(0, 320));
}

RC_GTEST_PROP(ThreadParallelRunner, CoversEveryItemOnce, ()) {
  static ThreadParallelRunner runner(3);
  ExpectCovers(runner, *rc::gen::inRange<size_t>(0, 300), *rc::gen::inRange<size_t>(0, 320));
}

TEST(ThreadParallelRunner, ReportsItsThreads) {
  EXPECT_EQ(ThreadParallelRunner(1).threads(), 1);
  EXPECT_EQ(ThreadParallelRunner(3).threads(), 3);
  EXPECT_EQ(SerialRunner().threads(), 1);
}

TEST(ThreadParallelRunner, CallingThreadAndHelpersShareOneLoop) {
  ThreadParallelRunner runner(2);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::atomic<int> inside = 0;
  // Each range waits for the other, so the loop ends only if two threads run it together.
  runner.For(2, 1, [&](size_t, size_t) {
    ++inside;
    while (inside < 2) {
      std::this_thread::yield();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

TEST(ThreadParallelRunner, WritesOfTheBodyAreSeenByTheCallerOverManyLoops) {
  ThreadParallelRunner runner(4);
  std::vector<uint64_t> values(64);
  for (uint64_t round = 1; round <= 2000; ++round) {
    runner.For(values.size(), 4, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        values[i] += i;
      }
    });
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), uint64_t{0}), round * 63 * 64 / 2);
  }
}

// Returns when every other thread of the process waits in the kernel: a runner's threads do so once
// they have spun without finding work.
void WaitUntilOthersSleep() {
  const auto waits = [](const std::filesystem::path& thread) {
    std::ifstream file(thread / "stat");
    std::string stat;
    std::getline(file, stat);
    const size_t name_end = stat.rfind(')');  // then a space and the state
    return name_end == std::string::npos || stat.substr(name_end + 2, 1) == "S";
  };
  const std::string self = std::to_string(::gettid());
  for (bool all = false; !all; std::this_thread::yield()) {
    all = true;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      all = all && (thread.path().filename() == self || waits(thread.path()));
    }
  }
}

// Runs loops of one range beside the caller's on threads that still spin and on threads that have
// fallen asleep.
TEST(ThreadParallelRunner, ManyShortLoopsLoseNothing) {
  for (const int threads : {2, 5}) {
    ThreadParallelRunner runner(threads);
    std::atomic<uint64_t> sum = 0;
    for (uint64_t round = 0; round < 3000; ++round) {
      runner.For(1 + round % 7, 1, [&](size_t begin, size_t end) { sum += end - begin; });
      if (round % 500 == 0) {
        WaitUntilOthersSleep();
      }
    }
    uint64_t expected = 0;
    for (uint64_t round = 0; round < 3000; ++round) {
      expected += 1 + round % 7;
    }
    EXPECT_EQ(sum, expected);
  }
}

// Other threads do not wait for a thread that is slow in its range: they take its share.
TEST(ThreadParallelRunner, OthersTakeTheShareOfASlowThread) {
  ThreadParallelRunner runner(2);
  std::atomic<int> others = 0;
  runner.For(16, 1, [&](size_t begin, size_t) {
    if (begin == 0) {
      while (others < 15) {
        std::this_thread::yield();
      }
    } else {
      ++others;
    }
  });
  EXPECT_EQ(others, 15);
}

TEST(ThreadParallelRunnerDeathTest, RefusesNestedLoops) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ThreadParallelRunner runner(2);
        runner.For(2, 1, [&](size_t, size_t) { runner.For(2, 1, [](size_t, size_t) {}); });
      },
      "check failed");
}

}  // namespace
}  // namespace ruvd
