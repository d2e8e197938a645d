// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace ruvd::api {

// An absl::Status as gRPC sends it: the same code and message, and in the details a
// google.rpc.Status with ErrorInfo {reason, domain "ruvd"}; MAILBOX_FULL also carries RetryInfo: a
// full queue passes in moments, a full disk does not.
grpc::Status ToRpcStatus(const absl::Status& status);

// The reverse, for clients: code, message and reason of an answer.
absl::Status FromRpcStatus(const grpc::Status& status);

}  // namespace ruvd::api
