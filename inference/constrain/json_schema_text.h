// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "absl/status/statusor.h"

namespace ruvd::inference {

// Reads the text of a JSON schema from untrusted bytes, with the members of objects in their order.
// INVALID_ARGUMENT names the place: for more than limits::kMaxConstraintBytes bytes, text that is
// not JSON in UTF-8, a number too large for a double, a name that occurs twice in an object, and
// more than limits::kMaxConstraintDepth levels. Thread-safe.
absl::StatusOr<nlohmann::ordered_json> ReadSchemaText(std::string_view text);

}  // namespace ruvd::inference
