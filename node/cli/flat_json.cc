// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/flat_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/status.h"

namespace ruvd::cli {
namespace {

constexpr size_t kMaxKeys = 64;
constexpr size_t kShown = 64;

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, "", format, std::forward<Args>(args)...);
}

}  // namespace

// The parser calls these methods; each returns whether the parser goes on.
class FlatJson::Handler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit Handler(FlatJson* out) : out_(out) {}
  const absl::Status& status() const { return status_; }

  // NOLINTBEGIN(readability-identifier-naming): the names are the library's
  bool null() { return Refuse("null"); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(number_integer_t value) { return Add(int64_t{value}); }
  bool number_unsigned(number_unsigned_t value) { return Add(uint64_t{value}); }
  bool number_float(number_float_t value, const string_t&) { return Add(value); }
  bool string(string_t& value) { return Add(std::move(value)); }
  bool binary(binary_t&) { return Refuse("bytes"); }
  bool start_array(size_t) { return Refuse("a list"); }
  bool end_array() { return true; }
  bool start_object(size_t) {
    if (std::exchange(inside_, true)) {
      return Refuse("an object");
    }
    return true;
  }
  bool end_object() { return true; }
  bool key(string_t& name) {
    if (out_->values_.contains(name) || out_->values_.size() >= kMaxKeys) {
      status_ = Wrong("the key \"{}\" occurs twice, or there are more than {} keys",
                      std::string_view(name).substr(0, kShown), kMaxKeys);
      return false;
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) {
    status_ = Wrong("the text is not JSON at byte {}", position);
    return false;
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool Add(Value value) {
    if (!inside_) {
      return Refuse("not an object");
    }
    out_->values_.emplace(std::move(key_), std::move(value));
    return true;
  }
  bool Refuse(std::string_view what) {
    status_ =
        Wrong("\"{}\" is {}; one object with only texts, numbers and truth values is expected",
              std::string_view(key_).substr(0, kShown), what);
    return false;
  }

  FlatJson* const out_;
  bool inside_ = false;
  std::string key_;
  absl::Status status_;
};

absl::StatusOr<FlatJson> FlatJson::Parse(std::string_view text) {
  FlatJson object;
  Handler handler(&object);
  const bool parsed = nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
  RETURN_IF_ERROR(handler.status());
  if (!parsed) {
    return Wrong("the text is not JSON");
  }
  return object;
}

absl::StatusOr<std::string> FlatJson::TakeText(const std::string& key, const char* otherwise) {
  const auto found = values_.find(key);
  if (found == values_.end() && otherwise != nullptr) {
    return std::string(otherwise);
  }
  if (found == values_.end() || !std::holds_alternative<std::string>(found->second)) {
    return Wrong("\"{}\" is missing or is not a text", key);
  }
  std::string text = std::move(std::get<std::string>(found->second));
  values_.erase(found);
  return text;
}

absl::StatusOr<int64_t> FlatJson::TakeInteger(const std::string& key, int64_t least, int64_t most) {
  const auto found = values_.find(key);
  std::optional<int64_t> value;
  if (found != values_.end()) {
    if (const auto* number = std::get_if<int64_t>(&found->second)) {
      value = *number;
    } else if (const auto* natural = std::get_if<uint64_t>(&found->second);
               natural != nullptr && std::in_range<int64_t>(*natural)) {
      value = static_cast<int64_t>(*natural);
    }
  }
  if (!value || *value < least || *value > most) {
    return Wrong("\"{}\" is missing or is not a whole number from {} to {}", key, least, most);
  }
  values_.erase(found);
  return *value;
}

absl::StatusOr<double> FlatJson::TakeNumber(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end() || std::holds_alternative<std::string>(found->second) ||
      std::holds_alternative<bool>(found->second)) {
    return Wrong("\"{}\" is missing or is not a number", key);
  }
  const double number = std::visit(
      [](const auto& value) -> double {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
          return static_cast<double>(value);
        }
        return 0;
      },
      found->second);
  values_.erase(found);
  return number;
}

absl::Status FlatJson::CheckAllTaken() const {
  return values_.empty() ? absl::OkStatus()
                         : Wrong("\"{}\" is not a key of this version",
                                 std::string_view(values_.begin()->first).substr(0, kShown));
}

}  // namespace ruvd::cli
