// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "absl/status/statusor.h"

namespace ruvd::openai {

// Reads one JSON value (RFC 8259) from untrusted bytes. JSON_INVALID names the field's path
// ("messages[2].content") or the place: for text that is no JSON or not UTF-8, NaN and numbers too
// large for a double, a name that occurs twice in an object, more than limits::kMaxJsonDepth levels
// and more than limits::kMaxJsonValues values.
absl::StatusOr<nlohmann::json> ReadJson(std::string_view text);

}  // namespace ruvd::openai
