// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ruvd::inference {

// Reads JSON without exceptions, for the importer.

// Parses an object. The order of its keys does not matter. `what` names the file in messages.
// MODEL_CORRUPT if the text is not a JSON object or is nested deeper than
// limits::kMaxImportJsonDepth.
absl::StatusOr<nlohmann::json> ParseJsonObject(std::string_view text, std::string_view what);

// Returns a member of an object, or null if it is absent or JSON null.
const nlohmann::json* JsonMember(const nlohmann::json& object, std::string_view key);

// Return a member of this type; nullopt if it is absent or of another type (or, for integers,
// negative).
std::optional<uint64_t> JsonUnsigned(const nlohmann::json& object, std::string_view key);
std::optional<double> JsonNumber(const nlohmann::json& object, std::string_view key);
std::optional<bool> JsonBool(const nlohmann::json& object, std::string_view key);
std::optional<std::string> JsonString(const nlohmann::json& object, std::string_view key);

}  // namespace ruvd::inference
