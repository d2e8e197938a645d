// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/inline_executor.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace ruvd {

void InlineExecutor::Post(Task task, Priority priority) {
  {
    MutexLock lock(mutex_);
    lanes_[static_cast<size_t>(priority)].push_back(std::move(task));
  }
  RunReady();
}

TimerHandle InlineExecutor::PostAt(TimePoint when, Task task) {
  TimerHandle handle;
  {
    MutexLock lock(mutex_);
    handle = timers_.Push(when, std::move(task));
  }
  Advance(Duration::zero());
  return handle;
}

void InlineExecutor::Advance(Duration duration) {
  const TimePoint end = clock_.Now() + duration;
  for (;;) {
    std::vector<Task> cancelled;
    std::optional<Task> task;
    {
      MutexLock lock(mutex_);
      const std::optional<TimePoint> due = timers_.NextDue();
      if (due && *due <= end) {
        clock_.Advance(std::max(*due, clock_.Now()) - clock_.Now());
        task = timers_.PopDue(clock_.Now());
      }
      cancelled = timers_.TakeCancelled();
    }
    if (!task) {
      break;
    }
    Post(std::move(*task), Priority::kControl);
  }
  clock_.Advance(std::max(end, clock_.Now()) - clock_.Now());
}

void InlineExecutor::RunReady() {
  {
    MutexLock lock(mutex_);
    if (running_) {
      return;
    }
    running_ = true;
  }
  for (;;) {
    Task task;
    {
      MutexLock lock(mutex_);
      auto& control = lanes_[static_cast<size_t>(Priority::kControl)];
      auto& lane = control.empty() ? lanes_[static_cast<size_t>(Priority::kNormal)] : control;
      if (lane.empty()) {
        running_ = false;
        return;
      }
      task = std::move(lane.front());
      lane.pop_front();
    }
    try {
      task();
    } catch (...) {  // the exception reaches the poster, and the executor stays usable
      MutexLock lock(mutex_);
      running_ = false;
      throw;
    }
  }
}

}  // namespace ruvd
