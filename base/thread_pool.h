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
  // Gives way to the threads of other pools (for learning beside serving).
  bool low_priority = false;
  // Called with the text of an exception that left a task, from the worker's thread. Without one
  // the text goes to stderr. The worker lives on either way.
  std::function<void(std::string_view what)> on_exception;
};

// An executor of threads of its own and real time. Control tasks and due timers start before
// normal tasks; tasks of one lane start in order. Thread-safe.
class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(ThreadPoolOptions options);
  ~ThreadPool() override;  // Shutdown()
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Post(Task task, Priority priority = Priority::kNormal) override;
  TimerHandle PostAt(TimePoint when, Task task) override;
  const Clock& clock() const override { return SystemClock(); }

  // Runs every task that was posted, and those which these post, drops the timers that are not due,
  // joins the threads. What is posted afterwards is dropped and counted. May be called again; not
  // from a task of this pool.
  void Shutdown();
  // Tasks posted after Shutdown.
  uint64_t dropped() const;

 private:
  void Work(int index);
  // Blocks until there is a task; an empty one means the end.
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
