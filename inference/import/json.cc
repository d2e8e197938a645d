// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/import/limits.h"

namespace ruvd::inference {

using nlohmann::json;

namespace {

// Returns whether objects and arrays are nested deeper than the limit. Invalid JSON may be judged
// wrongly, but the parser refuses it afterwards.
bool NestsTooDeep(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > limits::kMaxImportJsonDepth) {
        return true;
      }
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<json> ParseJsonObject(std::string_view text, std::string_view what) {
  if (NestsTooDeep(text)) {  // copying and writing a value is recursive
    return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
                 "{} has values nested deeper than {}; obtain the file again", what,
                 limits::kMaxImportJsonDepth);
  }
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
                 "{} is not a JSON object; obtain the file again", what);
  }
  return value;
}

const json* JsonMember(const json& object, std::string_view key) {
  if (!object.is_object()) {
    return nullptr;
  }
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::optional<uint64_t> JsonUnsigned(const json& object, std::string_view key) {
  const json* value = JsonMember(object, key);
  if (value == nullptr || !value->is_number_unsigned()) {
    return std::nullopt;
  }
  return value->get<uint64_t>();
}

std::optional<double> JsonNumber(const json& object, std::string_view key) {
  const json* value = JsonMember(object, key);
  if (value == nullptr || !value->is_number()) {
    return std::nullopt;
  }
  return value->get<double>();
}

std::optional<bool> JsonBool(const json& object, std::string_view key) {
  const json* value = JsonMember(object, key);
  if (value == nullptr || !value->is_boolean()) {
    return std::nullopt;
  }
  return value->get<bool>();
}

std::optional<std::string> JsonString(const json& object, std::string_view key) {
  const json* value = JsonMember(object, key);
  if (value == nullptr || !value->is_string()) {
    return std::nullopt;
  }
  return value->get<std::string>();
}

}  // namespace ruvd::inference
