// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "node/limits.h"
#include "storage/changes/learning_change.h"

namespace ruvd::learning {

struct LearningThrottleOptions {
  const Clock* clock = nullptr;  // borrowed
  // How far the 99th percentile of a step's time may rise above its level without learning, as a
  // share.
  double slow_down = 0.2;
  // Time window for steps that ran beside learning.
  Duration window = std::chrono::seconds(5);
  // Fewest steps that count as a measurement; learning waits for as many steps without learning.
  size_t least_steps = 50;
  uint64_t memory_bytes = uint64_t{512} << 20;
  // Returns the bytes that session memories hold. Empty: none.
  std::function<uint64_t()> session_bytes = nullptr;
  // Waits for a moment; tests advance a clock instead. Empty: the calling thread waits.
  std::function<void(Duration)> wait = nullptr;
};

struct LearningThrottleStatus {
  double p99_learning = 0;  // in seconds; 0: too few steps in the window
  double p99_without = 0;
  double paused_seconds = 0;  // time given to serving since the start, by both loops together
  uint64_t pauses = 0;        // since the start
  uint64_t memory_bytes = 0;  // bytes that training holds now
  uint64_t budget_bytes = 0;
};

// Makes learning give way to serving: between slices of training it waits while denoising steps
// take noticeably longer than without learning, or while learning holds more memory than its
// budget. The level without learning is measured whenever nothing is learned, including during such
// a wait, so a node that is slow for other reasons continues to learn. If several loops learn at
// once, each on its own thread, they take turns of one slice. Thread-safe.
class LearningThrottle {
 public:
  explicit LearningThrottle(LearningThrottleOptions options) : options_(std::move(options)) {}

  // Reports that a denoising step of a request took `seconds`.
  void StepEnded(double seconds);

  // While an object of this class lives, its thread learns beside serving. The constructor waits
  // for the thread's turn. A thread may have at most one.
  class ScopedLearning {
   public:
    explicit ScopedLearning(LearningThrottle& throttle);
    ~ScopedLearning();
    ScopedLearning(const ScopedLearning&) = delete;
    ScopedLearning& operator=(const ScopedLearning&) = delete;

   private:
    LearningThrottle& throttle_;
  };

  // Gives other loops their turns and returns once this loop, whose round holds `bytes`, may
  // continue. Must be called by a thread that has a Working. Returns CANCELLED once `cancelled`
  // returns true, and for a background round that would fit if a deep round did not hold memory.
  // Returns RESOURCE_EXHAUSTED (LIMIT_EXCEEDED) if memory stays above the budget for a minute.
  // Memory of a deep round counts against background rounds but not the other way round, so that
  // one of them always continues.
  absl::Status Wait(storage::LearningLoop loop, uint64_t bytes,
                    const std::function<bool()>& cancelled);

  // Reports that the loop's round no longer holds memory.
  void RoundEnded(storage::LearningLoop loop);

  LearningThrottleStatus status() const;

 private:
  struct Step {
    TimePoint ended;
    double seconds = 0;
  };
  using Steps = std::deque<Step>;

  bool IsServingSlowed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool OverBudget(storage::LearningLoop loop) const;
  bool FitsWithoutDeep() const;
  void TakeTurn();
  void GiveTurn();
  void WaitBriefly();
  static double Percentile99(const Steps& steps);

  const LearningThrottleOptions options_;
  mutable Mutex mutex_;
  CondVar moment_;  // never signalled; it is only waited on with a timeout
  CondVar turns_;   // signalled when a turn ends
  uint64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t turns_ended_ ABSL_GUARDED_BY(mutex_) = 0;  // the ticket with this number has its turn
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
  TimePoint worked_until_ ABSL_GUARDED_BY(mutex_){};
  Steps beside_ ABSL_GUARDED_BY(mutex_);   // steps beside learning
  Steps without_ ABSL_GUARDED_BY(mutex_);  // steps without learning
  double paused_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t pauses_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t background_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t deep_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ruvd::learning
