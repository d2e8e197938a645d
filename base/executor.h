// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"

namespace ruvd {

// Control tasks (stop, configuration, timers) run before normal ones.
enum class Priority : uint8_t { kNormal, kControl };

using Task = std::function<void()>;

// Cancels a delayed task. Destroying the handle does not cancel it. Thread-safe.
class TimerHandle {
 public:
  TimerHandle() = default;
  explicit TimerHandle(std::shared_ptr<std::atomic<bool>> cancelled)
      : cancelled_(std::move(cancelled)) {}
  // After this returns the task will not start, unless it has started already.
  void Cancel() {
    if (cancelled_ != nullptr) {
      cancelled_->store(true);
    }
  }

 private:
  std::shared_ptr<std::atomic<bool>> cancelled_;
};

// Where tasks run: a pool of threads, the calling thread, or the seeded simulator. Because actors
// use only this interface, the same actor code runs deterministically under test. All methods are
// thread-safe.
//
// Tasks are independent of each other: nothing may depend on the order in which two tasks of the
// same lane run. An executor does not bound its queue; what is posted must be bounded by its
// owner (an actor has at most one turn posted, whatever its mailbox holds).
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Post(Task task, Priority priority = Priority::kNormal) = 0;
  // Runs `task` once when clock().Now() has reached `when`, or later.
  virtual TimerHandle PostAt(TimePoint when, Task task) = 0;
  virtual const Clock& clock() const = 0;
  // Mixes `tag`, which identifies what the running task is about to do, into the simulator's trace
  // hash. Other executors ignore it.
  virtual void Trace(uint64_t /*tag*/) {}
};

}  // namespace ruvd
