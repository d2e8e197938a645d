// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"

namespace ruvd {

// Holds what is posted until it is told to run it.
class HoldingExecutor final : public Executor {
 public:
  void Post(Task task, Priority /*priority*/) override {
    const std::unique_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  TimerHandle PostAt(TimePoint /*when*/, Task /*task*/) override { return {}; }
  const Clock& clock() const override { return SystemClock(); }

  void WaitFor(size_t tasks) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return tasks_.size() >= tasks; });
  }
  size_t size() {
    const std::unique_lock lock(mutex_);
    return tasks_.size();
  }
  void RunAll() {
    std::vector<Task> tasks;
    {
      const std::unique_lock lock(mutex_);
      tasks.swap(tasks_);
    }
    for (const Task& task : tasks) {
      task();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> tasks_;
};

}  // namespace ruvd
