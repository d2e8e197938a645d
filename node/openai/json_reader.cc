// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/json_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error_details.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "node/openai/api_error.h"
#include "node/openai/limits.h"
#include "node/openai/reasons.h"

namespace ruvd::openai {
namespace {

using nlohmann::json;

// Builds a value from the events of nlohmann's parser, which would build it without any limit.
class LimitedBuilder final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return Refuse("is binary; send JSON"); }

  bool start_object(std::size_t) override { return Open(json::object()); }
  bool start_array(std::size_t) override { return Open(json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (level.value.contains(name)) {
      level.name = std::move(name);
      return Refuse("occurs twice; send it once");
    }
    level.name = std::move(name);
    return true;
  }
  bool parse_error(std::size_t place, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const bool is_number = error.id == 406;  // json::out_of_range: a number beyond a double
    status_ = WithField(
        Error(absl::StatusCode::kInvalidArgument, reasons::kJsonInvalid,
              "{} at byte {}{}; send JSON in UTF-8",
              is_number ? "a number is too large for JSON" : "the body is not JSON", place,
              levels_.empty() ? "" : fmt::format(" in {}", SanitizeForDisplay(Path()))),
        Path());
    return false;
  }

  absl::StatusOr<json> Take() {
    if (!status_.ok()) {
      return status_;
    }
    return *std::move(root_);
  }

 private:
  // An object or array that is not closed yet, and where the next value goes.
  struct Level {
    json value;
    std::string name;
  };

  std::string Path() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.value.is_array()) {
        path += fmt::format("[{}]", level.value.size());
      } else if (!level.name.empty()) {
        path += (path.empty() ? "" : ".") + level.name;
      }
    }
    return path;
  }

  bool Refuse(std::string_view why) {
    const std::string path = Path();
    status_ = WithField(
        Error(absl::StatusCode::kInvalidArgument, reasons::kJsonInvalid, "{} {}",
              path.empty() ? "the body" : fmt::format("the field {}", SanitizeForDisplay(path)),
              why),
        path);
    return false;
  }

  bool Count() {
    return ++values_ <= limits::kMaxJsonValues ||
           Refuse(fmt::format("is beyond the {} values that a request may have; send fewer",
                              limits::kMaxJsonValues));
  }
  void Place(json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
    } else if (levels_.back().value.is_array()) {
      levels_.back().value.push_back(std::move(value));
    } else {
      levels_.back().value[levels_.back().name] = std::move(value);
    }
  }
  template <typename Value>
  bool Add(Value&& value) {
    if (!Count()) {
      return false;
    }
    Place(json(std::forward<Value>(value)));
    return true;
  }
  bool Open(json empty) {
    if (levels_.size() >= limits::kMaxJsonDepth) {
      return Refuse(fmt::format("has more than {} levels; send fewer", limits::kMaxJsonDepth));
    }
    if (!Count()) {
      return false;
    }
    levels_.push_back({std::move(empty), ""});
    return true;
  }
  bool Close() {
    json value = std::move(levels_.back().value);
    levels_.pop_back();
    Place(std::move(value));
    return true;
  }

  std::vector<Level> levels_;
  std::optional<json> root_;
  size_t values_ = 0;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<json> ReadJson(std::string_view text) {
  LimitedBuilder builder;
  json::sax_parse(text, &builder);
  return builder.Take();
}

}  // namespace ruvd::openai
