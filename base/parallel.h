// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>

namespace ruvd {

// Splits a loop over threads. One computation at a time uses an instance.
class ParallelRunner {
 public:
  virtual ~ParallelRunner() = default;
  // Calls body(begin, end) over disjoint ranges that cover [0, count), each of at most `grain`
  // items, possibly at the same time; returns when all are done. Which thread runs which range is
  // unspecified, so a body must not let its result depend on it.
  virtual void For(size_t count, size_t grain,
                   const std::function<void(size_t begin, size_t end)>& body) = 0;
  virtual int threads() const = 0;
};

// Runs everything on the calling thread. Stateless; shared instance, never destroyed.
ParallelRunner& SerialRunner();

}  // namespace ruvd
