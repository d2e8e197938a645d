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

// The seeded simulator of threads and time. It runs one task at a time, chosen at random among the
// ready ones (among those of the control lane while it has any), so that many seeds explore many
// interleavings. Tasks take no virtual time; time jumps to the next timer only when nothing is
// ready. Several timers due at one instant run in random order.
//
// Equal seeds with equal posts give the same order of execution, and so the same trace_hash().
// Unlike other executors it is not thread-safe: only the thread that owns it and the tasks it runs
// may post.
class SimExecutor final : public Executor {
 public:
  explicit SimExecutor(uint64_t seed, int64_t wall_millis = 1'700'000'000'000);

  void Post(Task task, Priority priority = Priority::kNormal) override;
  TimerHandle PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return clock_; }
  void Trace(uint64_t tag) override;

  // Runs one ready task, or jumps to the next timer and runs that. Returns false if there is
  // neither.
  bool RunOne();
  // Runs until nothing is ready and no timer is set. Returns false if `max_tasks` were run first:
  // a periodic timer never lets a simulation end by itself.
  bool RunUntilIdle(uint64_t max_tasks = 1'000'000);
  // Runs everything due within the next `duration` and leaves time at its end.
  void RunFor(Duration duration);
  // Runs until `done` returns true; it is called between tasks. Returns false if that did not
  // happen within `max_tasks` tasks or before the simulation ran out of work.
  bool RunUntil(const std::function<bool()>& done, uint64_t max_tasks = 1'000'000);

  // A fingerprint of all tasks run so far: which tasks ran, in what order, at what virtual time,
  // and what they traced.
  uint64_t trace_hash() const { return trace_hash_; }
  uint64_t tasks_run() const { return tasks_run_; }
  // Returns the clock, for tests that step wall time. Only the executor may move its monotonic
  // time.
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
