// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/sim_executor.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ruvd {

SimExecutor::SimExecutor(uint64_t seed, int64_t wall_millis) : clock_(wall_millis), random_(seed) {}

void SimExecutor::Post(Task task, Priority priority) {
  lanes_[static_cast<size_t>(priority)].push_back({next_sequence_++, std::move(task)});
}

TimerHandle SimExecutor::PostAt(TimePoint when, Task task) {
  TimerHandle handle = timers_.Push(when, std::move(task));
  timers_.TakeCancelled();
  return handle;
}

void SimExecutor::Trace(uint64_t tag) {
  Mix(tag);
}

bool SimExecutor::RunOne() {
  PromoteDueTimers();
  if (!HasReady()) {
    const std::optional<TimePoint> due = timers_.NextDue();
    timers_.TakeCancelled();
    if (!due) {
      return false;
    }
    clock_.Advance(*due - clock_.Now());
    PromoteDueTimers();
  }
  RunRandomReady();
  return true;
}

bool SimExecutor::RunUntilIdle(uint64_t max_tasks) {
  for (uint64_t i = 0; i < max_tasks; ++i) {
    if (!RunOne()) {
      return true;
    }
  }
  return false;
}

void SimExecutor::RunFor(Duration duration) {
  const TimePoint end = clock_.Now() + duration;
  for (;;) {
    PromoteDueTimers();
    if (!HasReady()) {
      const std::optional<TimePoint> due = timers_.NextDue();
      if (!due || *due > end) {
        break;
      }
    }
    RunOne();
  }
  clock_.Advance(end - clock_.Now());
}

bool SimExecutor::RunUntil(const std::function<bool()>& done, uint64_t max_tasks) {
  for (uint64_t i = 0; i < max_tasks; ++i) {
    if (done()) {
      return true;
    }
    if (!RunOne()) {
      return done();
    }
  }
  return done();
}

void SimExecutor::PromoteDueTimers() {
  while (std::optional<Task> due = timers_.PopDue(clock_.Now())) {
    Post(std::move(*due), Priority::kControl);
  }
  timers_.TakeCancelled();
}

void SimExecutor::RunRandomReady() {
  auto& control = lanes_[static_cast<size_t>(Priority::kControl)];
  auto& lane = control.empty() ? lanes_[static_cast<size_t>(Priority::kNormal)] : control;
  std::swap(lane[random_.Below(lane.size())], lane.back());
  const Ready ready = std::move(lane.back());
  lane.pop_back();
  ++tasks_run_;
  Mix(ready.sequence);
  Mix(static_cast<uint64_t>(clock_.Now().time_since_epoch().count()));
  ready.task();
}

void SimExecutor::Mix(uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) {
    trace_hash_ = (trace_hash_ ^ ((value >> (8 * byte)) & 0xff)) * 0x100000001b3ULL;
  }
}

}  // namespace ruvd
