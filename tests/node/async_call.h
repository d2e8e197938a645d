// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>

#include "absl/status/status.h"
#include "node/api/rpc_status.h"

namespace ruvd {

// One call of the callback API whose end can be waited for. The object must outlive the call.
template <typename Request, typename Response>
class AsyncCall {
 public:
  grpc::ClientContext context;
  Request request;
  Response response;

  // Returns the callback for the stub.
  auto OnEnd() {
    return [this](const grpc::Status& end) {
      const std::unique_lock lock(mutex_);
      status_ = end;
      done_ = true;
      ended_.notify_all();
    };
  }
  // Waits for the end of the call.
  absl::Status End() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
    return api::FromRpcStatus(status_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  grpc::Status status_;
};

}  // namespace ruvd
