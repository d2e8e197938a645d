// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace ruvd {

// Splits a loop over threads. Only one computation may use an instance at a time: calls of For must
// neither overlap nor nest.
class ParallelRunner {
 public:
  virtual ~ParallelRunner() = default;
  // Calls body(begin, end) over disjoint ranges that cover [0, count), each of at most `grain`
  // items, possibly at the same time; returns when all are done. Which thread runs which range is
  // unspecified, so a body must not let its result depend on it. The body does not throw.
  virtual void For(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) = 0;
  virtual int threads() const = 0;
};

// Returns the runner that runs everything on the calling thread. It has no state and is a shared
// instance that is never destroyed.
ParallelRunner& SerialRunner();

// Runs loops on the calling thread and on `threads - 1` threads of its own. Between calls these
// spin for about 20 microseconds and then sleep. Each thread begins with its own share of the
// ranges and then takes ranges from the other shares, one at a time, so that a slow or preempted
// core runs fewer of them. A call waits only for ranges that were begun. A call costs about a
// microsecond while the threads still spin, and a system call when they sleep.
class ThreadParallelRunner final : public ParallelRunner {
 public:
  // threads >= 1.
  explicit ThreadParallelRunner(int threads);
  ~ThreadParallelRunner() override;
  ThreadParallelRunner(const ThreadParallelRunner&) = delete;
  ThreadParallelRunner& operator=(const ThreadParallelRunner&) = delete;

  void For(size_t count, size_t grain,
           const std::function<void(size_t begin, size_t end)>& body) override;
  int threads() const override;

 private:
  class Crew;
  std::unique_ptr<Crew> crew_;
};

}  // namespace ruvd
