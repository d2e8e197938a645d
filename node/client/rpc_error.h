// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ruvd::client {

// Turns the outcome of a call into a status with the reason that the node sent. `code` is the gRPC
// code (equal to absl's); `details` holds the bytes of the grpc-status-details-bin trailer, which
// may be invalid. UNAVAILABLE without a reason means that no node listens at `server`. If the node
// named a time to try again (google.rpc.RetryInfo), RetryDelayOf returns it, at most
// limits::kMaxRetryDelay.
absl::Status StatusOfCall(int code, std::string_view message, const std::string& details,
                          std::string_view server);

// Returns whether the node says that what it stored is damaged. An answer that was cut off on its
// way is another error.
bool IsDamaged(const absl::Status& status);

}  // namespace ruvd::client
