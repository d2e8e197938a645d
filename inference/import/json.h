// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ruvd::inference {

// Reading JSON without exceptions. Internal to the importer: the library's header is heavy.

// An object, keys in file order irrelevant. `what` names the file in messages. MODEL_CORRUPT for
// what is no JSON object or nests deeper than limits::kMaxImportJsonDepth.
absl::StatusOr<nlohmann::json> ParseJsonObject(std::string_view text, std::string_view what);

// A member of an object, or null where it is absent or JSON null.
const nlohmann::json* JsonMember(const nlohmann::json& object, std::string_view key);

// Typed members; nullopt where absent or of another type (or, for integers, negative).
std::optional<uint64_t> JsonUnsigned(const nlohmann::json& object, std::string_view key);
std::optional<double> JsonNumber(const nlohmann::json& object, std::string_view key);
std::optional<bool> JsonBool(const nlohmann::json& object, std::string_view key);
std::optional<std::string> JsonString(const nlohmann::json& object, std::string_view key);

}  // namespace ruvd::inference
