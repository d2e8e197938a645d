// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/mutex.h"
#include "base/timer_queue.h"

namespace ruvd {

struct ThreadPoolOptions {
  // Shown by the debugger and `top -H`; Linux keeps the first 15 characters of "name/index".
  std::string name = "pool";
  int threads = 1;
  // If true, the threads give way to those of other pools (learning runs beside serving).
  bool low_priority = false;
  // Called on the worker's thread with the text of an exception that left a task. If it is empty,
  // the text goes to stderr. The worker goes on in both cases.
  std::function<void(std::string_view what)> on_exception;
};

// An executor with its own threads and real time. Control tasks and due timers start before normal
// tasks; tasks of one lane start in order. Thread-safe.
class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(ThreadPoolOptions options);
  ~ThreadPool() override;  // Shutdown()
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Post(Task task, Priority priority = Priority::kNormal) override;
  TimerHandle PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return SystemClock(); }

  // Runs every posted task and the tasks that these post, drops the timers that are not due, and
  // joins the threads. Tasks posted afterwards are dropped and counted. May be called again. Must
  // not be called from a task of this pool.
  void Shutdown();
  // Returns the number of tasks that were dropped because they came after Shutdown.
  uint64_t dropped() const;

 private:
  void Work(int index);
  // Blocks until there is a task. An empty task means that the worker must end.
  Task NextTask();
  void PromoteDueTimers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run(const Task& task);

  const ThreadPoolOptions options_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::array<std::deque<Task>, 2> lanes_ ABSL_GUARDED_BY(mutex_);  // by Priority
  TimerQueue timers_ ABSL_GUARDED_BY(mutex_);
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace ruvd
