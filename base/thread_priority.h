// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "base/parallel.h"

namespace ruvd {

// Gives the calling thread, for good, and those that it makes from now on a lower share of the
// processors than other threads get. A refusal costs only speed.
void LowerThisThread();

// A ThreadParallelRunner whose own threads have low priority; the thread that calls it keeps its
// own. threads >= 1.
std::unique_ptr<ThreadParallelRunner> LowPriorityRunner(int threads);

}  // namespace ruvd
