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
  // By how much the 99th percentile of a step may rise above its level without learning, as a
  // share.
  double slow_down = 0.2;
  // Steps beside learning count for so long.
  Duration window = std::chrono::seconds(5);
  // Fewer steps than this tell nothing; of those without learning as many are waited for.
  size_t least_steps = 50;
  uint64_t memory_bytes = uint64_t{512} << 20;
  // What sessions were taught, in bytes. Empty: nothing.
  std::function<uint64_t()> session_bytes = nullptr;
  // Waits a moment; tests move a clock instead. Empty: the calling thread does.
  std::function<void(Duration)> wait = nullptr;
};

struct LearningThrottleStatus {
  double p99_learning = 0;  // seconds; 0: too few steps in the window
  double p99_without = 0;
  double paused_seconds = 0;  // for serving, since the start; of both loops together
  uint64_t pauses = 0;        // since the start
  uint64_t memory_bytes = 0;  // that training holds now
  uint64_t budget_bytes = 0;
};

// Lets learning give way to serving: between slices of training it waits while denoising steps take
// noticeably longer than they do without learning, or while learning holds more memory than it may.
// The level without learning is measured whenever nothing is learned, so also during such a wait: a
// node that is slow for other reasons goes on learning. Of loops that learn at once, each on a
// thread of its own, one works at a time, in turns of a slice. Thread-safe.
class LearningThrottle {
 public:
  explicit LearningThrottle(LearningThrottleOptions options) : options_(std::move(options)) {}

  // A denoising step that somebody waited for took so many seconds.
  void StepEnded(double seconds);

  // While one of these lives, something is learned beside serving; it waits for its turn. One in a
  // thread.
  class Working {
   public:
    explicit Working(LearningThrottle& throttle);
    ~Working();
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;

   private:
    LearningThrottle& throttle_;
  };

  // Lets other loops have their turns and returns once this one, whose round holds so many bytes,
  // may go on; by a thread that has a Working. CANCELLED once `cancelled` says so, and for a
  // background round that would fit if a deep one did not hold memory; RESOURCE_EXHAUSTED
  // (LIMIT_EXCEEDED) where memory stays above the budget for a minute. What a deep round holds
  // counts against background rounds and not the other way round, so that one of them goes on.
  absl::Status Wait(storage::LearningLoop loop, uint64_t bytes,
                    const std::function<bool()>& cancelled);

  // The loop's round holds no memory any more.
  void RoundEnded(storage::LearningLoop loop);

  LearningThrottleStatus status() const;

 private:
  struct Step {
    TimePoint ended;
    double seconds = 0;
  };
  using Steps = std::deque<Step>;

  bool ServingSuffers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool OverBudget(storage::LearningLoop loop) const;
  bool FitsWithoutDeep() const;
  void TakeTurn();
  void GiveTurn();
  void WaitAMoment();
  static double Percentile99(const Steps& steps);

  const LearningThrottleOptions options_;
  mutable Mutex mutex_;
  CondVar moment_;  // nobody signals it: it only waits
  CondVar turns_;   // a turn ended
  uint64_t last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t turns_ended_ ABSL_GUARDED_BY(mutex_) = 0;  // the next ticket's loop works
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
  TimePoint worked_until_ ABSL_GUARDED_BY(mutex_){};
  Steps beside_ ABSL_GUARDED_BY(mutex_);   // learning
  Steps without_ ABSL_GUARDED_BY(mutex_);  // it
  double paused_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t pauses_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t background_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t deep_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ruvd::learning
