// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests when learning gives way to serving.

#include "node/learning/learning_throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::learning {
namespace {

constexpr double kUsual = 0.010;

class LearningThrottleTest : public ::testing::Test {
 protected:
  LearningThrottleTest()
      : throttle_({.clock = &clock_,
                   .memory_bytes = 1000,
                   .session_bytes = [this] { return session_bytes_; },
                   .wait =
                       [this](Duration duration) {
                         clock_.Advance(duration);
                         ++sleeps_;
                         if (while_waiting_) {
                           while_waiting_();
                         }
                       }}) {}
  void Steps(int count, double seconds) {
    for (int i = 0; i < count; ++i) {
      clock_.Advance(std::chrono::milliseconds(10));
      throttle_.StepEnded(seconds);
    }
  }
  bool Waits(const std::function<bool()>& cancelled = nullptr) {
    sleeps_ = 0;
    EXPECT_TRUE(throttle_.Wait(storage::LearningLoop::kBackground, 0, cancelled).ok());
    return sleeps_ > 0;
  }

  ManualClock clock_;
  uint64_t session_bytes_ = 0;
  int sleeps_ = 0;
  std::function<void()> while_waiting_;
  LearningThrottle throttle_;
};

TEST_F(LearningThrottleTest, LearningWaitsWhileStepsTakeAFifthLonger) {
  Steps(200, kUsual);
  const LearningThrottle::ScopedLearning working(throttle_);
  Steps(100, 1.19 * kUsual);
  EXPECT_FALSE(Waits());
  Steps(100, 1.21 * kUsual);
  EXPECT_TRUE(Waits());
  EXPECT_EQ(throttle_.status().pauses, 1u);
  EXPECT_GE(throttle_.status().paused_seconds, 4) << "until those steps left the window";
  EXPECT_FALSE(Waits()) << "it has waited";
}

TEST_F(LearningThrottleTest, NobodyIsWaitedForWithoutEnoughSteps) {
  Steps(200, kUsual);
  const LearningThrottle::ScopedLearning working(throttle_);
  Steps(49, 10 * kUsual);
  EXPECT_FALSE(Waits());
  EXPECT_EQ(throttle_.status().p99_learning, 0);
  Steps(1, 10 * kUsual);
  EXPECT_TRUE(Waits());
}

TEST_F(LearningThrottleTest, AnUnknownLevelIsMeasuredInAPause) {
  const LearningThrottle::ScopedLearning working(throttle_);
  Steps(60, kUsual);
  while_waiting_ = [&] { throttle_.StepEnded(kUsual); };
  EXPECT_TRUE(Waits());
  EXPECT_DOUBLE_EQ(throttle_.status().p99_without, kUsual);
  while_waiting_ = nullptr;
  Steps(60, kUsual);
  EXPECT_FALSE(Waits());
}

// Otherwise a machine with more load than this morning would never learn again.
TEST_F(LearningThrottleTest, ALevelThatRoseWithoutLearningIsTheNewLevel) {
  Steps(200, kUsual);
  const LearningThrottle::ScopedLearning working(throttle_);
  Steps(100, 3 * kUsual);
  while_waiting_ = [&] { throttle_.StepEnded(3 * kUsual); };
  EXPECT_TRUE(Waits());
  Steps(100, 3 * kUsual);
  EXPECT_FALSE(Waits());
}

TEST_F(LearningThrottleTest, AStepThatBeganBesideLearningIsNotTakenForOneWithout) {
  {
    const LearningThrottle::ScopedLearning working(throttle_);
  }
  clock_.Advance(std::chrono::milliseconds(5));
  throttle_.StepEnded(0.5);
  Steps(60, kUsual);
  EXPECT_DOUBLE_EQ(throttle_.status().p99_without, kUsual);
}

TEST_F(LearningThrottleTest, AWaitEndsWhenLearningIsStopped) {
  Steps(200, kUsual);
  const LearningThrottle::ScopedLearning working(throttle_);
  Steps(100, 10 * kUsual);
  const absl::Status waited =
      throttle_.Wait(storage::LearningLoop::kBackground, 0, [&] { return sleeps_ >= 3; });
  EXPECT_TRUE(absl::IsCancelled(waited)) << waited;
  EXPECT_EQ(sleeps_, 3);
}

TEST_F(LearningThrottleTest, MemoryAboveTheBudgetIsWaitedForAMinute) {
  const LearningThrottle::ScopedLearning working(throttle_);
  session_bytes_ = 600;
  while_waiting_ = [&] { session_bytes_ = sleeps_ > 5 ? 400 : 600; };
  EXPECT_TRUE(throttle_.Wait(storage::LearningLoop::kDeep, 600, nullptr).ok())
      << "sessions gave some back";
  EXPECT_EQ(sleeps_, 6);
  EXPECT_EQ(throttle_.status().memory_bytes, 600u);
  while_waiting_ = nullptr;
  const absl::Status waited = throttle_.Wait(storage::LearningLoop::kDeep, 601, nullptr);
  EXPECT_EQ(ReasonOf(waited), reasons::kLimitExceeded);
}

// Otherwise each loop would wait a minute for the other's memory, and both would end.
TEST_F(LearningThrottleTest, OfTwoLoopsThatDoNotFitTheDeepOneGoesOn) {
  const LearningThrottle::ScopedLearning working(throttle_);
  ASSERT_TRUE(throttle_.Wait(storage::LearningLoop::kBackground, 500, nullptr).ok());
  EXPECT_TRUE(throttle_.Wait(storage::LearningLoop::kDeep, 600, nullptr).ok());
  EXPECT_EQ(throttle_.status().memory_bytes, 1100u);
  const absl::Status waited = throttle_.Wait(storage::LearningLoop::kBackground, 500, nullptr);
  EXPECT_TRUE(absl::IsCancelled(waited)) << waited << ": feedback was told after a minute that it "
                                         << "failed, for as long as a deep round went on";
  EXPECT_EQ(sleeps_, 0);
  throttle_.RoundEnded(storage::LearningLoop::kDeep);
  EXPECT_TRUE(throttle_.Wait(storage::LearningLoop::kBackground, 500, nullptr).ok());
  EXPECT_EQ(throttle_.status().memory_bytes, 500u);
}

// Regression test: a background round of hundreds of lessons kept a deep round waiting for minutes.
TEST_F(LearningThrottleTest, LoopsOfTwoThreadsWorkInTurns) {
  constexpr int kSlices = 20;
  std::atomic<int> at_work = 0;
  std::atomic<int> deep_slices = 0;
  const auto slice = [&](storage::LearningLoop loop) {
    EXPECT_EQ(++at_work, 1) << "both at once";
    for (int i = 0; i < 100; ++i) {
      std::this_thread::yield();
    }
    --at_work;
    EXPECT_TRUE(throttle_.Wait(loop, 0, nullptr).ok());
  };
  {
    const LearningThrottle::ScopedLearning working(throttle_);
    std::thread deep([&] {
      const LearningThrottle::ScopedLearning own(throttle_);
      for (; deep_slices < kSlices; ++deep_slices) {
        slice(storage::LearningLoop::kDeep);
      }
    });
    while (deep_slices < kSlices) {  // runs for ever if the other loop gets no turn
      slice(storage::LearningLoop::kBackground);
    }
    deep.join();
  }
}

}  // namespace
}  // namespace ruvd::learning
