// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "base/clock.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "base/timer_queue.h"

namespace ruvd {

// Runs tasks on the thread that posts them, before Post returns. A task that a running task posts
// runs after it, not inside it. Time moves only in Advance. It serves unit tests and the start-up
// of a process. Thread-safe, but if two threads post, a task may run on either of them.
class InlineExecutor final : public Executor {
 public:
  explicit InlineExecutor(int64_t wall_millis = 1'700'000'000'000) : clock_(wall_millis) {}

  void Post(Task task, Priority priority = Priority::kNormal) override;
  // Runs the task within the call of Advance that reaches `when`, or within this call if `when` has
  // passed.
  TimerHandle PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return clock_; }

  // Moves time forward from timer to timer, running each at its own due time.
  void Advance(Duration duration);

 private:
  void RunReady();

  ManualClock clock_;
  Mutex mutex_;
  std::array<std::deque<Task>, 2> lanes_ ABSL_GUARDED_BY(mutex_);  // by Priority
  TimerQueue timers_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ruvd
