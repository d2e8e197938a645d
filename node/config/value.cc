// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/bytes.h"
#include "base/host_port.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/config/keys.h"
#include "node/config/toml.h"

namespace ruvd::config {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

std::string Spelled(const ConfigValue& value) {
  return std::visit(
      Overloaded{[](const std::string& v) { return fmt::format("\"{}\"", v); },
                 [](const std::vector<std::string>& v) { return fmt::format("{}", v); },
                 [](const auto& v) { return fmt::format("{}", v); }},
      value);
}

absl::Status Refuse(const ConfigKey& key, const ConfigValue& value, std::string_view source) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
               "{}: {} = {} is not allowed; it must be {}", source, key.dotted(), Spelled(value),
               DescribeConfigType(key));
}

bool Fits(const ConfigKey& key, const std::string& text) {
  switch (key.rule) {
    case TextRule::kAny:
      return true;
    case TextRule::kAddress:
      return ParseHostPort(text).has_value();
    case TextRule::kAddressOrEmpty:
      return text.empty() || ParseHostPort(text).has_value();
    case TextRule::kOneOf:
      return std::ranges::find(key.choices, std::string_view(text)) != key.choices.end();
    case TextRule::kHex64OrEmpty:
      return text.empty() || (text.size() == 64 && FromHex(text).has_value());
  }
  return false;
}

bool InRange(const ConfigKey& key, double value) {
  return std::isfinite(value) && value >= key.min && value <= key.max;
}

// Stores `value` if it has the field's type and range. Returns whether it does.
bool Assign(const ConfigKey& key, const ConfigValue& value, std::string& field) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || !Fits(key, *text)) {
    return false;
  }
  field = *text;
  return true;
}

bool Assign(const ConfigKey&, const ConfigValue& value, bool& field) {
  const bool* flag = std::get_if<bool>(&value);
  if (flag == nullptr) {
    return false;
  }
  field = *flag;
  return true;
}

template <typename Integer>
bool AssignInteger(const ConfigKey& key, const ConfigValue& value, Integer& field) {
  const int64_t* number = std::get_if<int64_t>(&value);
  if (number == nullptr || !InRange(key, static_cast<double>(*number))) {
    return false;
  }
  field = static_cast<Integer>(*number);
  return true;
}

bool Assign(const ConfigKey& key, const ConfigValue& value, int& field) {
  return AssignInteger(key, value, field);
}

bool Assign(const ConfigKey& key, const ConfigValue& value, uint64_t& field) {
  return AssignInteger(key, value, field);
}

bool Assign(const ConfigKey& key, const ConfigValue& value, float& field) {
  double number = 0;
  if (const auto* real = std::get_if<double>(&value)) {
    number = *real;
  } else if (const auto* whole = std::get_if<int64_t>(&value)) {
    number = static_cast<double>(*whole);
  } else {
    return false;
  }
  if (!InRange(key, number)) {
    return false;
  }
  field = static_cast<float>(number);
  return true;
}

bool Assign(const ConfigKey& key, const ConfigValue& value, std::vector<std::string>& field) {
  const auto* list = std::get_if<std::vector<std::string>>(&value);
  if (list == nullptr || !std::ranges::all_of(*list, [&](auto& item) { return Fits(key, item); })) {
    return false;
  }
  field = *list;
  return true;
}

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

ConfigValue NumberOrText(std::string_view text) {
  if (const auto whole = ParseNumber<int64_t>(text)) {
    return *whole;
  }
  if (const auto real = ParseNumber<double>(text)) {
    return *real;
  }
  return std::string(text);
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace

absl::Status SetConfigValue(const ConfigKey& key, const ConfigValue& value, std::string_view source,
                            NodeConfig* config) {
  const bool ok = std::visit([&](auto get) { return Assign(key, value, get(*config)); }, key.field);
  return ok ? absl::OkStatus() : Refuse(key, value, source);
}

absl::Status SetConfigText(const ConfigKey& key, std::string_view text, std::string_view source,
                           NodeConfig* config) {
  const ConfigValue value = std::visit(
      Overloaded{[&](std::string& (*)(NodeConfig&)) { return ConfigValue(std::string(text)); },
                 [&](std::vector<std::string>& (*)(NodeConfig&)) {
                   return ConfigValue(SplitAtCommas(text));
                 },
                 [&](bool& (*)(NodeConfig&)) {
                   return text == "true" || text == "false" ? ConfigValue(text == "true")
                                                            : ConfigValue(std::string(text));
                 },
                 [&](auto) { return NumberOrText(text); }},
      key.field);
  return SetConfigValue(key, value, source, config);
}

std::string DescribeConfigType(const ConfigKey& key) {
  const auto text_rule = [&](std::string_view one) -> std::string {
    switch (key.rule) {
      case TextRule::kAny:
        return std::string(one);
      case TextRule::kAddress:
        return "HOST:PORT";
      case TextRule::kAddressOrEmpty:
        return "HOST:PORT or empty";
      case TextRule::kOneOf:
        return fmt::format("one of {}", fmt::join(key.choices, ", "));
      case TextRule::kHex64OrEmpty:
        return "64 hexadecimal digits or empty";
    }
    return std::string(one);
  };
  return std::visit(Overloaded{[&](std::string& (*)(NodeConfig&)) { return text_rule("text"); },
                               [&](std::vector<std::string>& (*)(NodeConfig&)) {
                                 return fmt::format("a list of {}", text_rule("texts"));
                               },
                               [&](bool& (*)(NodeConfig&)) { return std::string("true or false"); },
                               [&](float& (*)(NodeConfig&)) {
                                 return fmt::format("a number from {} to {}", key.min, key.max);
                               },
                               [&](auto) {
                                 return fmt::format("a whole number from {:.0f} to {:.0f}", key.min,
                                                    key.max);
                               }},
                    key.field);
}

std::string ConfigValueToToml(const ConfigKey& key, const NodeConfig& config) {
  // The accessors take a mutable reference, but nothing is changed through it here.
  auto& reachable = const_cast<NodeConfig&>(config);
  return std::visit(
      Overloaded{[&](std::string& (*get)(NodeConfig&)) { return QuoteToml(get(reachable)); },
                 [&](std::vector<std::string>& (*get)(NodeConfig&)) {
                   std::vector<std::string> quoted;
                   for (const std::string& item : get(reachable)) {
                     quoted.push_back(QuoteToml(item));
                   }
                   return fmt::format("[{}]", fmt::join(quoted, ", "));
                 },
                 [&](float& (*get)(NodeConfig&)) { return FloatToToml(get(reachable)); },
                 [&](auto get) { return fmt::format("{}", get(reachable)); }},
      key.field);
}

}  // namespace ruvd::config
