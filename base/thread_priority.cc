// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/thread_priority.h"

#include <sys/resource.h>
#include <unistd.h>

#include <thread>

namespace ruvd {
namespace {

// Under Linux's scheduler a thread at nice 10 gets about a tenth of a normal thread's share.
constexpr int kLowPriorityNice = 10;

}  // namespace

void LowerThreadPriority() {
  // Linux applies PRIO_PROCESS with a thread id to that thread alone, and threads inherit it.
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLowPriorityNice);
}

std::unique_ptr<ThreadParallelRunner> LowPriorityRunner(int threads) {
  std::unique_ptr<ThreadParallelRunner> runner;
  std::thread maker([&] {
    LowerThreadPriority();
    runner = std::make_unique<ThreadParallelRunner>(threads);
  });
  maker.join();
  return runner;
}

}  // namespace ruvd
