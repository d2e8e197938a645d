// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/field_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error_details.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "node/openai/api_error.h"
#include "node/openai/reasons.h"

namespace ruvd::openai {

using nlohmann::json;

FieldReader::FieldReader(const json& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) {
    status_ = WithField(
        Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
              "{} is {}; send an "
              "object",
              path_.empty() ? "the body" : SanitizeForDisplay(path_), object_.type_name()),
        path_);
  }
}

std::string FieldReader::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void FieldReader::Note(absl::Status status) {
  if (status_.ok()) {
    status_ = std::move(status);
  }
}

void FieldReader::Refuse(std::string_view name, std::string_view what) {
  const std::string path = PathOf(name);
  Note(WithField(Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{} {}",
                       SanitizeForDisplay(path), what),
                 path));
}

void FieldReader::RefuseUnsupported(std::string_view name, std::string_view what) {
  const std::string path = PathOf(name);
  Note(WithField(Error(absl::StatusCode::kInvalidArgument, reasons::kUnsupportedParameter, "{} {}",
                       SanitizeForDisplay(path), what),
                 path));
}

const json* FieldReader::Any(std::string_view name) {
  read_.emplace(name);
  if (!object_.is_object()) {
    return nullptr;
  }
  const auto found = object_.find(std::string(name));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> FieldReader::Text(std::string_view name) {
  const json* const value = Any(name);
  if (value != nullptr && !value->is_string()) {
    Refuse(name, fmt::format("is {}; send a text", value->type_name()));
  }
  return value != nullptr && value->is_string() ? std::optional(value->get<std::string>())
                                                : std::nullopt;
}

std::optional<double> FieldReader::Number(std::string_view name) {
  const json* const value = Any(name);
  if (value != nullptr && !value->is_number()) {
    Refuse(name, fmt::format("is {}; send a number", value->type_name()));
  }
  return value != nullptr && value->is_number() ? std::optional(value->get<double>())
                                                : std::nullopt;
}

std::optional<uint64_t> FieldReader::Whole(std::string_view name, uint64_t least, uint64_t most) {
  const json* const value = Any(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_number_unsigned() || value->get<uint64_t>() < least ||
      value->get<uint64_t>() > most) {
    Refuse(name, fmt::format("is {}; send a whole number from {} to {}",
                             value->is_number() ? value->dump() : value->type_name(), least, most));
    return std::nullopt;
  }
  return value->get<uint64_t>();
}

std::optional<bool> FieldReader::Flag(std::string_view name) {
  const json* const value = Any(name);
  if (value != nullptr && !value->is_boolean()) {
    Refuse(name, fmt::format("is {}; send true or false", value->type_name()));
  }
  return value != nullptr && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
}

std::optional<std::vector<std::string>> FieldReader::Texts(std::string_view name) {
  const json* const value = Any(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->is_string()) {
    return std::vector{value->get<std::string>()};
  }
  if (!value->is_array() || !std::ranges::all_of(*value, &json::is_string)) {
    Refuse(name, "is neither a text nor a list of texts; send one of the two");
    return std::nullopt;
  }
  return value->get<std::vector<std::string>>();
}

std::optional<std::vector<std::pair<std::string, std::string>>> FieldReader::Pairs(
    std::string_view name) {
  const json* const value = Any(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_object() || !std::ranges::all_of(*value, &json::is_string)) {
    Refuse(name, "is no object with texts; send names with texts");
    return std::nullopt;
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [key, text] : value->items()) {
    pairs.emplace_back(key, text.get<std::string>());
  }
  return pairs;
}

void FieldReader::Only(std::string_view name, const json& value) {
  const json* const given = Any(name);
  if (given != nullptr && *given != value) {
    RefuseUnsupported(name,
                      fmt::format("is not supported; leave it out, or send {}", value.dump()));
  }
}

absl::Status FieldReader::Finish() {
  if (object_.is_object()) {
    for (const auto& [name, value] : object_.items()) {
      if (!value.is_null() && !read_.contains(name)) {
        RefuseUnsupported(name, "is not supported by this node; leave it out");
      }
    }
  }
  return status_;
}

}  // namespace ruvd::openai
