// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/constrain/json_schema_text.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/constrain/limits.h"

namespace ruvd::inference {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kNumberOutOfRange = 406;  // nlohmann's number of this error

// Builds a value from the events of nlohmann's parser, which would build it without a limit of
// depth and would keep the last of several members with one name.
class SchemaBuilder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Place(nullptr); }
  bool boolean(bool value) override { return Place(value); }
  bool number_integer(number_integer_t value) override { return Place(value); }
  bool number_unsigned(number_unsigned_t value) override { return Place(value); }
  bool number_float(number_float_t value, const string_t&) override { return Place(value); }
  bool string(string_t& value) override { return Place(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON has no such value

  bool start_object(std::size_t) override { return Open(Json::object()); }
  bool start_array(std::size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (!level.names.insert(name).second) {
      status_ = Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                      "the schema has the name \"{}\" twice in one object; write it once",
                      SanitizeForDisplay(name));
      return false;
    }
    level.name = std::move(name);
    return true;
  }
  bool parse_error(std::size_t place, const std::string&,
                   const nlohmann::detail::exception& error) override {
    status_ = Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                    "{} at byte {}; send a schema that is JSON in UTF-8",
                    error.id == kNumberOutOfRange ? "the schema has a number that is too large"
                                                  : "the schema is not JSON",
                    place);
    return false;
  }

  absl::StatusOr<Json> Take() {
    if (!status_.ok()) {
      return status_;
    }
    return std::move(root_);
  }

 private:
  // An object or array that is not closed yet, and where the next value goes.
  struct Level {
    Json value;
    std::string name;
    std::set<std::string> names;
  };

  bool Place(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
    } else if (levels_.back().value.is_array()) {
      levels_.back().value.push_back(std::move(value));
    } else {
      levels_.back().value[levels_.back().name] = std::move(value);
    }
    return true;
  }
  bool Open(Json empty) {
    if (levels_.size() >= size_t{limits::kMaxConstraintDepth}) {
      status_ = Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                      "the schema has more than {} levels of objects and arrays; use fewer, for "
                      "example with $ref",
                      limits::kMaxConstraintDepth);
      return false;
    }
    levels_.push_back({.value = std::move(empty), .name = "", .names = {}});
    return true;
  }
  bool Close() {
    Json value = std::move(levels_.back().value);
    levels_.pop_back();
    return Place(std::move(value));
  }

  std::vector<Level> levels_;
  Json root_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Json> ReadSchemaText(std::string_view text) {
  if (text.size() > limits::kMaxConstraintBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the schema has {} bytes, but a node takes at most {}; make it shorter",
                 text.size(), limits::kMaxConstraintBytes);
  }
  SchemaBuilder builder;
  Json::sax_parse(text, &builder);
  return builder.Take();
}

}  // namespace ruvd::inference
