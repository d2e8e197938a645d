// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/timer_queue.h"

#include <algorithm>
#include <utility>

namespace ruvd {

TimerHandle TimerQueue::Push(TimePoint when, Task task) {
  if (heap_.size() >= sweep_at_) {
    SweepCancelled();
  }
  auto cancelled = std::make_shared<std::atomic<bool>>(false);
  heap_.push_back({when, next_sequence_++, cancelled, std::move(task)});
  std::push_heap(heap_.begin(), heap_.end(), Later());
  return TimerHandle(std::move(cancelled));
}

std::optional<TimePoint> TimerQueue::NextDue() {
  while (!heap_.empty() && heap_.front().cancelled->load()) {
    removed_.push_back(std::move(heap_.front().task));
    PopFront();
  }
  if (heap_.empty()) {
    return std::nullopt;
  }
  return heap_.front().when;
}

std::optional<Task> TimerQueue::PopDue(TimePoint now) {
  const std::optional<TimePoint> due = NextDue();
  if (!due || *due > now) {
    return std::nullopt;
  }
  // The flag is checked again when the task starts, because the task may wait in a ready queue
  // until then.
  Task task = [cancelled = heap_.front().cancelled, task = std::move(heap_.front().task)] {
    if (!cancelled->load()) {
      task();
    }
  };
  PopFront();
  return task;
}

void TimerQueue::PopFront() {
  std::pop_heap(heap_.begin(), heap_.end(), Later());
  heap_.pop_back();
}

void TimerQueue::SweepCancelled() {
  std::erase_if(heap_, [this](Entry& entry) {
    const bool cancelled = entry.cancelled->load();
    if (cancelled) {
      removed_.push_back(std::move(entry.task));
    }
    return cancelled;
  });
  std::make_heap(heap_.begin(), heap_.end(), Later());
  sweep_at_ = std::max<size_t>(64, heap_.size() * 2);
}

}  // namespace ruvd
