// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace ruvd::cli {

// Returns a period such as "90s", "15m", "2h" or "7d" in milliseconds. Any other text is a USAGE
// error.
absl::StatusOr<int64_t> ParsePeriod(const std::string& text);

// Formats a Unix time in milliseconds as "2026-11-21 19:00:00", in UTC. A time before 1970 or after
// 9999 is shown as the nearest time in that range.
std::string FormatTime(int64_t ms);

}  // namespace ruvd::cli
