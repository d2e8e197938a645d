// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/rpc_error.h"

#include "base/reasons.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace ruvd {
namespace {

// "" where the details hold no ErrorInfo or are damaged.
std::string ReasonIn(const std::string& details) {
  google::rpc::Status rich;
  if (details.empty() || !rich.ParseFromString(details)) {
    return "";
  }
  for (const auto& any : rich.details()) {
    google::rpc::ErrorInfo info;
    if (any.Is<google::rpc::ErrorInfo>() && any.UnpackTo(&info)) {
      return info.reason();
    }
  }
  return "";
}

}  // namespace

absl::Status StatusOfCall(int code, std::string_view message, const std::string& details,
                          std::string_view server) {
  if (code == 0) {
    return absl::OkStatus();
  }
  const auto status_code = static_cast<absl::StatusCode>(code);
  const std::string reason = ReasonIn(details);
  if (!reason.empty()) {
    return MakeError(status_code, reason, message);
  }
  if (status_code == absl::StatusCode::kUnavailable) {
    return Error(status_code, reasons::kNodeUnreachable,
                 "no node answers at {}; start one with `ruvd demo` or `ruvd serve`, or name "
                 "another with --server",
                 server);
  }
  if (status_code == absl::StatusCode::kDeadlineExceeded) {
    return Error(status_code, reasons::kDeadlineExceeded,
                 "the node at {} did not finish in time; it may be busy, try again", server);
  }
  if (message.empty()) {
    return Error(
        status_code, "",
        "the call failed with the code {} and no message (from {}); the node's log may say "
        "more",
        absl::StatusCodeToString(status_code), server);
  }
  return Error(status_code, "", "{} (from {})", message, server);
}

}  // namespace ruvd
