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
  if (waiting_.fetch_add(1) >= capacity_) {
    Leave();
    reactor->Finish(ToRpcStatus(
        Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull,
              "{} calls of this kind are waiting already; try again in a moment", capacity_)));
    return;
  }
  executor_.Post([this, context, reactor, answer = std::move(answer),
                  answered = std::move(answered)] {
    const absl::Status status = context->IsCancelled()
                                    ? Error(absl::StatusCode::kCancelled, reasons::kCancelled,
                                            "the caller cancelled the call, or its deadline passed")
                                    : answer();
    if (status.ok() && answered != nullptr) {
      answered();
      return;
    }
    Leave();
    reactor->Finish(ToRpcStatus(status));
  });
}

}  // namespace ruvd::api
