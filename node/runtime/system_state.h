// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "base/random.h"
#include "node/runtime/dead_letters.h"
#include "node/runtime/options.h"

namespace ruvd::runtime {

struct DrainReport {
  // True if all accepted work was done and every actor stopped in order.
  bool complete = false;
  // Number of messages that were accepted and never handled.
  size_t messages_lost = 0;
  // Names of actors that had not stopped at the deadline.
  std::vector<std::string> unfinished;
};

namespace actor_internal {

class Cell;

// The state that the cells of one system share. It lives as long as its last cell, because a task
// on some executor may still hold that cell. Thread-safe.
class SystemState : public std::enable_shared_from_this<SystemState> {
 public:
  SystemState(Executor& executor, ActorSystemOptions options)
      : executor_(executor),
        options_(std::move(options)),
        dead_letters_(options_.on_dead_letter),
        random_(options_.seed) {}

  Executor& executor() { return executor_; }
  const ActorSystemOptions& options() const { return options_; }
  DeadLetters& dead_letters() { return dead_letters_; }

  // Counts a unit of accepted work: a queued message, a message being handled, an unanswered ask, a
  // job. A drain waits until the count is zero.
  void Hold(size_t units = 1) { work_.fetch_add(units); }
  void Release(size_t units = 1);

  // Returns false while draining, except for code that runs inside a turn of this system: accepted
  // work may finish.
  bool Admits() const { return !draining_.load() || current_ == this; }

  bool draining() const { return draining_.load(); }

  uint64_t NextSeed();
  // Adds a cell; returns false once the system drains.
  bool Add(std::shared_ptr<Cell> cell);
  void Forget(const Cell& cell);
  std::vector<std::shared_ptr<Cell>> Cells() const;

  void Drain(TimePoint deadline, std::function<void(DrainReport)> done);
  // Stops every actor at once; returns how many messages were lost.
  size_t Abort();

  // Marks the current thread as being inside a turn.
  class TurnScope {
   public:
    explicit TurnScope(const SystemState& system) : outer_(std::exchange(current_, &system)) {}
    ~TurnScope() { current_ = outer_; }
    TurnScope(const TurnScope&) = delete;
    TurnScope& operator=(const TurnScope&) = delete;

   private:
    const SystemState* outer_;
  };

 private:
  void BeginStopping();
  void StopNext();
  void FinishDrain();

  static thread_local const SystemState* current_;

  Executor& executor_;
  const ActorSystemOptions options_;
  DeadLetters dead_letters_;
  std::atomic<size_t> work_{0};
  std::atomic<bool> draining_{false};
  std::atomic<bool> stopping_{false};
  mutable Mutex mutex_;
  Random random_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Cell>> cells_ ABSL_GUARDED_BY(mutex_);  // in order of spawning
  std::function<void(DrainReport)> drained_ ABSL_GUARDED_BY(mutex_);
  TimerHandle drain_timer_ ABSL_GUARDED_BY(mutex_);
};

// Holds one unit of work for as long as it exists.
class WorkToken {
 public:
  explicit WorkToken(std::shared_ptr<SystemState> system) : system_(std::move(system)) {
    system_->Hold();
  }
  ~WorkToken() { system_->Release(); }
  WorkToken(const WorkToken&) = delete;
  WorkToken& operator=(const WorkToken&) = delete;

 private:
  std::shared_ptr<SystemState> system_;
};

}  // namespace actor_internal
}  // namespace ruvd::runtime
