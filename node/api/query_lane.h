// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "base/executor.h"

namespace ruvd::api {

// Where calls run that read many rows or wait for the disk, so that gRPC's threads and the
// inference thread never do. Those that wait are bounded, and those that nobody wants any more,
// because their callers left or the server stops, end at once: a stop waits for all of them.
// Thread-safe; outlives its calls, and `executor` outlives it.
class QueryLane {
 public:
  QueryLane(Executor* executor, size_t capacity) : executor_(*executor), capacity_(capacity) {}
  QueryLane(const QueryLane&) = delete;
  QueryLane& operator=(const QueryLane&) = delete;

  // Runs `answer` on the executor and finishes the call with its status: RESOURCE_EXHAUSTED
  // (MAILBOX_FULL) at once where too many wait, CANCELLED for a call that ended meanwhile. Where
  // `answered` is set, it finishes the call after an OK, and calls Leave before.
  void Run(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
           std::function<absl::Status()> answer, std::function<void()> answered = nullptr);
  // A call that Run left to `answered` ends: it counts as waiting until then.
  void Leave() { waiting_.fetch_sub(1); }

 private:
  Executor& executor_;
  const size_t capacity_;
  std::atomic<size_t> waiting_{0};
};

}  // namespace ruvd::api
