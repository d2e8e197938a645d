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

namespace ruvd {

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
  double paused_seconds = 0;  // for serving, since the start
  uint64_t pauses = 0;        // since the start
  uint64_t memory_bytes = 0;  // that training holds now
  uint64_t budget_bytes = 0;
};

// Lets learning give way to serving: between slices of training it waits while denoising steps take
// noticeably longer than they do without learning, or while learning holds more memory than it may.
// The level without learning is measured whenever nothing is learned, so also during such a wait: a
// node that is slow for other reasons goes on learning. Thread-safe.
class LearningThrottle {
 public:
  explicit LearningThrottle(LearningThrottleOptions options) : options_(std::move(options)) {}

  // A denoising step that somebody waited for took so many seconds.
  void StepEnded(double seconds);

  // While one of these lives, something is learned beside serving.
  class Working {
   public:
    explicit Working(LearningThrottle& throttle);
    ~Working();
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;

   private:
    LearningThrottle& throttle_;
  };

  // Returns once learning, which holds so many bytes, may go on; on the thread that learns.
  // CANCELLED once `cancelled` says so; RESOURCE_EXHAUSTED (LIMIT_EXCEEDED) where memory stays
  // above the budget for a minute.
  absl::Status Wait(uint64_t bytes, const std::function<bool()>& cancelled);

  LearningThrottleStatus status() const;

 private:
  struct Step {
    TimePoint ended;
    double seconds = 0;
  };
  using Steps = std::deque<Step>;

  bool ServingSuffers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool OverBudget(uint64_t bytes) const;
  void SetWorking(bool working);
  void WaitAMoment();
  static double Percentile99(const Steps& steps);

  const LearningThrottleOptions options_;
  mutable Mutex mutex_;
  CondVar moment_;  // nobody signals it: it only waits
  bool working_ ABSL_GUARDED_BY(mutex_) = false;
  TimePoint worked_until_ ABSL_GUARDED_BY(mutex_){};
  Steps beside_ ABSL_GUARDED_BY(mutex_);   // learning
  Steps without_ ABSL_GUARDED_BY(mutex_);  // it
  double paused_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t pauses_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ruvd
