// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/random.h"
#include "base/timer_queue.h"

namespace ruvd {

// The seeded simulator of threads and time. It runs one task at a time: a random one of those that
// are ready (of the control lane while it has any), so that many seeds explore many interleavings.
// Tasks take no virtual time; time jumps to the next timer only when nothing is ready. Several
// timers due at one instant run in random order.
//
// The same seed and the same posts give the same order of execution, and so the same trace_hash().
// Unlike other executors it belongs to one thread: posts come from it or from the running tasks.
class SimExecutor final : public Executor {
 public:
  explicit SimExecutor(uint64_t seed, int64_t wall_millis = 1'700'000'000'000);

  void Post(Task task, Priority priority = Priority::kNormal) override;
  TimerHandle PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return clock_; }
  void Trace(uint64_t tag) override;

  // Runs one ready task, or jumps to the next timer and runs that. False if there is neither.
  bool RunOne();
  // Runs until nothing is ready and no timer is set. Returns false if `max_tasks` were run first:
  // a periodic timer never lets a simulation end by itself.
  bool RunUntilIdle(uint64_t max_tasks = 1'000'000);
  // Runs everything due within the next `duration` and leaves time at its end.
  void RunFor(Duration duration);
  // Runs until `done` holds, asked between tasks. Returns false if it did not within `max_tasks`
  // or before the simulation ran out of work.
  bool RunUntil(const std::function<bool()>& done, uint64_t max_tasks = 1'000'000);

  // Fingerprint of every task run so far: which, in what order, when, and what it traced.
  uint64_t trace_hash() const { return trace_hash_; }
  uint64_t tasks_run() const { return tasks_run_; }
  // The clock itself, for tests that step wall time. Moving its monotonic time is up to the
  // executor.
  ManualClock& manual_clock() { return clock_; }

 private:
  struct Ready {
    uint64_t sequence;
    Task task;
  };
  void PromoteDueTimers();
  bool HasReady() const { return !lanes_[0].empty() || !lanes_[1].empty(); }
  void RunRandomReady();
  void Mix(uint64_t value);

  ManualClock clock_;
  Random random_;
  std::array<std::vector<Ready>, 2> lanes_;  // by Priority
  TimerQueue timers_;
  uint64_t next_sequence_ = 0;
  uint64_t tasks_run_ = 0;
  uint64_t trace_hash_ = 0xcbf29ce484222325ULL;  // FNV-1a offset basis
};

}  // namespace ruvd
