// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "base/parallel.h"

namespace ruvd {

// Permanently lowers the scheduling priority of the calling thread and of the threads that it
// creates from now on. If the system refuses, only speed suffers.
void LowerThreadPriority();

// Returns a ThreadParallelRunner whose own threads have low priority. A thread that calls it keeps
// its priority. threads >= 1.
std::unique_ptr<ThreadParallelRunner> LowPriorityRunner(int threads);

}  // namespace ruvd
