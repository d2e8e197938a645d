// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace ruvd::cli {

// "90s", "15m", "2h" or "7d" in milliseconds. USAGE.
absl::StatusOr<int64_t> ParsePeriod(const std::string& text);

// "2026-11-21 19:00:00", UTC; what is before 1970 or after 9999 is shown as the nearest moment.
std::string FormatTime(int64_t ms);

}  // namespace ruvd::cli
