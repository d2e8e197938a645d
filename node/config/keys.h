// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "node/config/config.h"

namespace ruvd::config {

// A value as a TOML file spells it; flags and environment variables are always text.
using ConfigValue = std::variant<std::string, bool, int64_t, double, std::vector<std::string>>;

// Reaches one field of a NodeConfig; the alternative that is set names the field's type.
using ConfigField =
    std::variant<std::string& (*)(NodeConfig&), bool& (*)(NodeConfig&), int& (*)(NodeConfig&),
                 uint64_t& (*)(NodeConfig&), float& (*)(NodeConfig&),
                 std::vector<std::string>& (*)(NodeConfig&)>;

// What a text field must look like beyond being text.
enum class TextRule : uint8_t { kAny, kAddress, kAddressOrEmpty, kOneOf, kHex64OrEmpty };

// One configuration key: the single place that knows its name, type, range and meaning.
struct ConfigKey {
  std::string_view section;
  std::string_view name;
  std::string_view doc;
  ConfigField field;
  double min = 0;  // of numbers, inclusive
  double max = 0;
  TextRule rule = TextRule::kAny;                  // of texts
  std::span<const std::string_view> choices = {};  // of kOneOf

  // "section.name"
  std::string dotted() const;
  // "RUVD_SECTION__NAME"
  std::string variable() const;
};

// All keys, grouped by section in the order of `ruvd config show`. Never changes.
std::span<const ConfigKey> ConfigKeys();
// Their dotted names, in the same order.
std::span<const std::string> ConfigKeyNames();
// nullptr for an unknown name.
const ConfigKey* FindConfigKey(std::string_view dotted);

// Checks `value` against the key's type and range and stores it. CONFIG_INVALID names the key, what
// was found and what is allowed. `source` ("file F", "flag", ...) begins the message.
absl::Status SetConfigValue(const ConfigKey& key, const ConfigValue& value, std::string_view source,
                            NodeConfig* config);
// Reads the text of a flag or variable by the key's type first; lists are separated by commas.
absl::Status SetConfigText(const ConfigKey& key, std::string_view text, std::string_view source,
                           NodeConfig* config);

// The field's value as TOML: quoted text, true, 12, 0.5, ["a", "b"].
std::string ConfigValueToToml(const ConfigKey& key, const NodeConfig& config);
// "text", "true or false", "whole number from 1 to 64", ...
std::string DescribeConfigType(const ConfigKey& key);

}  // namespace ruvd::config
