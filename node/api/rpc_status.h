// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

// Converts an absl::Status for gRPC: the code and message are the same, and the details hold a
// google.rpc.Status with ErrorInfo {reason, domain "ruvd"}. MAILBOX_FULL also carries RetryInfo,
// because a queue is full only for moments, unlike a disk, and
// KEY_LIMIT carries it with QuotaFailure.
grpc::Status ToRpcStatus(const absl::Status& status);

// Converts an answer back for clients: code, message and reason.
absl::Status FromRpcStatus(const grpc::Status& status);

}  // namespace ruvd::api
