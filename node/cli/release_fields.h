// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ruvd/admin/v1/admin.pb.h"

namespace ruvd::cli {

// Formats a time as "2026-01-31 12:00:00 UTC"; 0 gives `never`.
std::string TimeLabel(int64_t unix_ms, std::string_view never);

// Returns names and values for FormatFields: what noised contributions have cost; empty if none may
// leave and none left.
std::vector<std::pair<std::string, std::string>> ReleaseFields(
    const admin::v1::ReleaseStatus& release);

}  // namespace ruvd::cli
