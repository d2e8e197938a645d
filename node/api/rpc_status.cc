// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/rpc_status.h"

#include <grpcpp/grpcpp.h>

#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "storage/reasons.h"

namespace ruvd::api {
namespace {

// Time after which a client tries again. Queues drain within a few denoising steps, and a pattern
// does not keep changing for long.
constexpr int kRetryNanos = 200'000'000;

}  // namespace

grpc::Status ToRpcStatus(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(MessageOf(status));
  google::rpc::ErrorInfo info;
  info.set_reason(ReasonOf(status));
  info.set_domain("ruvd");
  details.add_details()->PackFrom(info);
  if (ReasonOf(status) == reasons::kMailboxFull || ReasonOf(status) == reasons::kChanged) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_nanos(kRetryNanos);
    details.add_details()->PackFrom(retry);
  }
  return {static_cast<grpc::StatusCode>(status.code()), MessageOf(status),
          details.SerializeAsString()};
}

absl::Status FromRpcStatus(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  std::string reason;
  google::rpc::Status details;
  if (details.ParseFromString(status.error_details())) {
    for (const auto& detail : details.details()) {
      google::rpc::ErrorInfo info;
      if (detail.UnpackTo(&info)) {
        reason = info.reason();
      }
    }
  }
  return MakeError(static_cast<absl::StatusCode>(status.error_code()), reason,
                   status.error_message());
}

}  // namespace ruvd::api
