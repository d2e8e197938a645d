// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ruvd::client {

// Turns the outcome of a call into a status with the reason the node sent. `code` is the gRPC code
// (equal to absl's), `details` the bytes of the grpc-status-details-bin trailer, which may be
// anything. UNAVAILABLE without a reason means that nobody listens at `server`.
absl::Status StatusOfCall(int code, std::string_view message, const std::string& details,
                          std::string_view server);

// When to call again, where the node was busy and said so (google.rpc.RetryInfo); at most
// limits::kMaxRetryDelay. nullopt: calling again does not help.
std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status);

}  // namespace ruvd::client
