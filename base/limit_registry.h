// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <vector>

#include "base/limit_use.h"
#include "base/mutex.h"

namespace ruvd {

// All limits of a node, for those who operate it. A limit counts where it holds; the registry asks
// only when it is read, so that counting stays cheap. Thread-safe.
class LimitRegistry {
 public:
  // Returns the limits of one part as they are now. Called on the threads of Read, one call at a
  // time.
  using Reader = std::function<std::vector<LimitUse>()>;
  // What the reader borrows must live until the last Read. The names of all readers differ.
  void Add(Reader reader);
  // Returns all limits, by name.
  std::vector<LimitUse> Read() const;

 private:
  mutable Mutex mutex_;
  std::vector<Reader> readers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd
