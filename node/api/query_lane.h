// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "base/executor.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

// Runs calls that read many rows or wait for the disk, so that gRPC's threads and the inference
// thread never do. The number of waiting calls is bounded. A waiting call whose caller left ends at
// once, so that a stop of the server, which waits for all calls, is quick. Thread-safe. The lane
// must outlive its calls, and `executor` must outlive the lane.
class QueryLane {
 public:
  QueryLane(Executor* executor, size_t capacity) : executor_(*executor), capacity_(capacity) {}
  QueryLane(const QueryLane&) = delete;
  QueryLane& operator=(const QueryLane&) = delete;

  // Runs `answer` on the executor and finishes the call with its status. The call fails with
  // RESOURCE_EXHAUSTED (MAILBOX_FULL) at once if too many calls wait, and with CANCELLED if it
  // ended meanwhile. If `answered` is set, it runs after an OK, and must call Leave and then finish
  // the call.
  void Run(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
           std::function<absl::Status()> answer, std::function<void()> answered = nullptr);
  // Runs `answer` for a call of any kind, which `done` finishes: with MAILBOX_FULL if too many
  // calls wait. `answered` is as above.
  void Post(std::function<absl::Status()> answer, std::function<void(const absl::Status&)> done,
            std::function<void()> answered = nullptr);
  // Notes the end of a call that Run left to `answered`; until then it counts as waiting.
  void Leave() { waiting_.fetch_sub(1); }

 private:
  Executor& executor_;
  const size_t capacity_;
  std::atomic<size_t> waiting_{0};
};

}  // namespace ruvd::api
