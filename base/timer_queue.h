// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"

namespace ruvd {

// Delayed tasks ordered by due time, then by insertion; the part that all executors share.
// Cancelled tasks are removed when they reach the front, or in a sweep each time the queue has
// doubled, so that many long deadlines which are met early do not pile up. Not thread-safe: the
// executor's lock guards it. A closure's destructor may call the executor again, so removed
// closures are kept until the owner takes them out and destroys them without the lock.
class TimerQueue {
 public:
  TimerHandle Push(TimePoint when, Task task);
  // Returns the due time of the earliest task that is not cancelled.
  std::optional<TimePoint> NextDue();
  // Returns the earliest task if it is due at `now`.
  std::optional<Task> PopDue(TimePoint now);
  // Returns the closures of cancelled tasks, which the caller must destroy while it holds no lock.
  std::vector<Task> TakeCancelled() { return std::exchange(removed_, {}); }
  size_t size() const { return heap_.size(); }

 private:
  struct Entry {
    TimePoint when;
    uint64_t sequence;
    std::shared_ptr<std::atomic<bool>> cancelled;
    Task task;
  };
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return a.when != b.when ? a.when > b.when : a.sequence > b.sequence;
    }
  };
  void PopFront();
  void SweepCancelled();

  std::vector<Entry> heap_;
  std::vector<Task> removed_;
  uint64_t next_sequence_ = 0;
  size_t sweep_at_ = 64;
};

}  // namespace ruvd
