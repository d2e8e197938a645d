// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/query_lane.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/api/rpc_status.h"

namespace ruvd::api {

void QueryLane::Run(grpc::CallbackServerContext* context, grpc::ServerUnaryReactor* reactor,
                    std::function<absl::Status()> answer, std::function<void()> answered) {
  Post(
      [context, answer = std::move(answer)] {
        return context->IsCancelled()
                   ? Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                           "the caller cancelled the call, or its deadline passed")
                   : answer();
      },
      [reactor](const absl::Status& status) { reactor->Finish(ToRpcStatus(status)); },
      std::move(answered));
}

void QueryLane::Post(std::function<absl::Status()> answer,
                     std::function<void(const absl::Status&)> done,
                     std::function<void()> answered) {
  if (waiting_.fetch_add(1) >= capacity_) {
    Leave();
    done(Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull,
               "{} calls of this kind are waiting already; try again in a moment", capacity_));
    return;
  }
  executor_.Post(
      [this, answer = std::move(answer), done = std::move(done), answered = std::move(answered)] {
        const absl::Status status = answer();
        if (status.ok() && answered != nullptr) {
          answered();
          return;
        }
        Leave();
        done(status);
      });
}

}  // namespace ruvd::api
