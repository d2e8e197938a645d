// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace ruvd {

// Splits a loop over threads. One computation at a time uses an instance: calls of For neither
// overlap nor nest.
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

// Runs everything on the calling thread. Stateless; shared instance, never destroyed.
ParallelRunner& SerialRunner();

// Runs on the calling thread and `threads - 1` threads of its own, which sleep between calls after
// a spin of some 20 microseconds. Each thread begins with its own share of the ranges and then
// takes from the others, one range at a time, so that a slow or preempted core takes fewer of them;
// a call waits only for ranges that were begun. It costs about a microsecond while the threads
// still spin, and a system call when they sleep.
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
