// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/client/rpc_error.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/reasons.h"
#include "base/retry_delay.h"
#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "node/client/limits.h"
#include "node/client/local_server.h"
#include "node/reasons.h"

namespace ruvd::client {
namespace {

struct Details {
  std::string reason;  // "" if there is no ErrorInfo or the details are damaged
  std::optional<int64_t> retry_ms;
};

Details Read(const std::string& bytes) {
  Details details;
  google::rpc::Status rich;
  if (bytes.empty() || !rich.ParseFromString(bytes)) {
    return details;
  }
  for (const auto& any : rich.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::RetryInfo retry;
    if (details.reason.empty() && any.Is<google::rpc::ErrorInfo>() && any.UnpackTo(&info)) {
      details.reason = info.reason();
    } else if (any.Is<google::rpc::RetryInfo>() && any.UnpackTo(&retry)) {
      const int64_t seconds = std::clamp<int64_t>(retry.retry_delay().seconds(), 0,
                                                  limits::kMaxRetryDelay.count() / 1000);
      const int64_t millis = std::max(retry.retry_delay().nanos(), 0) / 1'000'000;
      details.retry_ms = std::min<int64_t>(1000 * seconds + millis, limits::kMaxRetryDelay.count());
    }
  }
  return details;
}

absl::Status Unreachable(std::string_view message, std::string_view server) {
  if (message.find("Ssl handshake") != std::string_view::npos) {
    return Error(absl::StatusCode::kUnavailable, reasons::kNodeUnreachable,
                 "the TLS connection to {} failed: {}; --tls-ca must name the certificate of that "
                 "node or of its issuer; leave it out if the node has no api.tls_cert",
                 server, message);
  }
  if (server.starts_with(kUnixServer)) {
    return Error(
        absl::StatusCode::kUnavailable, reasons::kNodeUnreachable,
        "no node serves this user at {}; start one as this user with `ruvd serve`, or name "
        "another node with --server",
        server);
  }
  return Error(absl::StatusCode::kUnavailable, reasons::kNodeUnreachable,
               "no node answers at {}; start one with `ruvd demo` or `ruvd serve`, name another "
               "node with --server, or add --tls-ca if the node uses TLS",
               server);
}

}  // namespace

absl::Status StatusOfCall(int code, std::string_view message, const std::string& details,
                          std::string_view server) {
  if (code == 0) {
    return absl::OkStatus();
  }
  const auto status_code = static_cast<absl::StatusCode>(code);
  const Details read = Read(details);
  if (!read.reason.empty()) {
    absl::Status status = MakeError(status_code, read.reason, message);
    return read.retry_ms
               ? WithRetryDelay(std::move(status), std::chrono::milliseconds(*read.retry_ms))
               : status;
  }
  if (status_code == absl::StatusCode::kUnavailable) {
    return Unreachable(message, server);
  }
  if (status_code == absl::StatusCode::kDeadlineExceeded) {
    return Error(status_code, reasons::kDeadlineExceeded,
                 "the node at {} did not finish in time; it may be busy, try again", server);
  }
  // The call was refused before it reached a service (api/authorization.h), so there are no
  // details.
  if (status_code == absl::StatusCode::kUnauthenticated) {
    return MakeError(status_code, reasons::kCallerUnknown, message);
  }
  if (status_code == absl::StatusCode::kPermissionDenied && !message.empty()) {
    return MakeError(status_code, reasons::kRoleMissing, message);
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

bool IsDamaged(const absl::Status& status) {
  return absl::IsDataLoss(status) && ReasonOf(status) != reasons::kInternal;
}

}  // namespace ruvd::client
