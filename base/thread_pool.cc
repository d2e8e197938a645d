// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/thread_pool.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "base/status.h"
#include "base/thread_priority.h"

namespace ruvd {
namespace {

constexpr size_t kMaxThreadName = 15;

void NameThisThread(const std::string& pool, int index) {
  const std::string suffix = fmt::format("/{}", index);
  const std::string name = pool.substr(0, kMaxThreadName - suffix.size()) + suffix;
  pthread_setname_np(pthread_self(), name.c_str());
}

}  // namespace

ThreadPool::ThreadPool(ThreadPoolOptions options) : options_(std::move(options)) {
  RUVD_CHECK(options_.threads > 0);
  threads_.reserve(static_cast<size_t>(options_.threads));
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this, i] { Work(i); });
  }
}

ThreadPool::~ThreadPool() {
  Shutdown();
}

void ThreadPool::Post(Task task, Priority priority) {
  {
    MutexLock lock(mutex_);
    if (closed_) {
      ++dropped_;
      return;
    }
    lanes_[static_cast<size_t>(priority)].push_back(std::move(task));
  }
  wake_.NotifyOne();
}

TimerHandle ThreadPool::PostAt(TimePoint when, Task task) {
  TimerHandle handle;
  std::vector<Task> cancelled;
  bool earliest = false;
  {
    MutexLock lock(mutex_);
    if (closing_) {
      ++dropped_;
      return handle;
    }
    const std::optional<TimePoint> next = timers_.NextDue();
    earliest = !next || when < *next;
    handle = timers_.Push(when, std::move(task));
    cancelled = timers_.TakeCancelled();
  }
  // Every sleeping worker waits no longer than until the earliest timer, so whichever of them stays
  // idle runs it. Therefore all of them must learn of an earlier timer.
  if (earliest) {
    wake_.NotifyAll();
  }
  return handle;
}

void ThreadPool::Shutdown() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
  }
  wake_.NotifyAll();
  for (std::jthread& thread : threads_) {
    RUVD_CHECK(thread.get_id() != std::this_thread::get_id());
    if (thread.joinable()) {
      thread.join();
    }
  }
  // Closures are destroyed outside the lock, because a destructor may post.
  TimerQueue unfired;
  std::array<std::deque<Task>, 2> late;
  MutexLock lock(mutex_);
  closed_ = true;
  std::swap(unfired, timers_);
  std::swap(late, lanes_);
  dropped_ += late[0].size() + late[1].size();
}

uint64_t ThreadPool::dropped() const {
  MutexLock lock(mutex_);
  return dropped_;
}

void ThreadPool::Work(int index) {
  NameThisThread(options_.name, index);
  if (options_.low_priority) {
    LowerThreadPriority();
  }
  while (Task task = NextTask()) {
    Run(task);
    task = nullptr;  // destroy the captures before the pool looks idle
    MutexLock lock(mutex_);
    if (--running_ == 0 && closing_) {
      wake_.NotifyAll();
    }
  }
}

void ThreadPool::PromoteDueTimers() {
  if (closing_ || !timers_.NextDue()) {
    return;
  }
  const TimePoint now = clock().Now();
  while (std::optional<Task> due = timers_.PopDue(now)) {
    lanes_[static_cast<size_t>(Priority::kControl)].push_back(std::move(*due));
  }
}

Task ThreadPool::NextTask() {
  std::vector<Task> cancelled;  // outlives the lock
  MutexLock lock(mutex_);
  for (;;) {
    auto& control = lanes_[static_cast<size_t>(Priority::kControl)];
    auto& normal = lanes_[static_cast<size_t>(Priority::kNormal)];
    PromoteDueTimers();
    if (!control.empty() || !normal.empty()) {
      auto& lane = control.empty() ? normal : control;
      Task task = std::move(lane.front());
      lane.pop_front();
      ++running_;
      cancelled = timers_.TakeCancelled();
      return task;
    }
    // A task that still runs on another worker may post, so no worker ends before the last task has
    // ended.
    if (closing_ && running_ == 0) {
      return nullptr;
    }
    const std::optional<TimePoint> due = closing_ ? std::nullopt : timers_.NextDue();
    if (due) {
      wake_.WaitUntil(mutex_, *due);
    } else {
      wake_.Wait(mutex_);
    }
  }
}

void ThreadPool::Run(const Task& task) {
  std::string what;
  try {
    task();
    return;
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
    what = "an exception that is not a std::exception";
  }
  if (options_.on_exception) {
    options_.on_exception(what);
  } else {
    std::fprintf(stderr, "a task of pool %s failed: %s\n", options_.name.c_str(), what.c_str());
  }
}

}  // namespace ruvd
