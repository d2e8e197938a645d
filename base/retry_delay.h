// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <optional>

#include "absl/status/status.h"

namespace ruvd {

// Adds to an error the time after which another try may succeed. OK stays OK.
absl::Status WithRetryDelay(absl::Status status, std::chrono::milliseconds delay);

// Returns the time that was added; nullopt: none was, so the error does not say when to try again.
std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status);

}  // namespace ruvd
