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

// A value with the type that it has in a TOML file. Flags and environment variables are always
// text.
using ConfigValue = std::variant<std::string, bool, int64_t, double, std::vector<std::string>>;

// Returns a reference to one field of a NodeConfig. The alternative that is set gives the field's
// type.
using ConfigField =
    std::variant<std::string& (*)(NodeConfig&), bool& (*)(NodeConfig&), int& (*)(NodeConfig&),
                 uint64_t& (*)(NodeConfig&), float& (*)(NodeConfig&),
                 std::vector<std::string>& (*)(NodeConfig&)>;

// The form that a text field must have.
enum class TextRule : uint8_t { kAny, kAddress, kAddressOrEmpty, kOneOf, kHex64OrEmpty };

// One configuration key: the single place that knows its name, type, range and meaning.
struct ConfigKey {
  std::string_view section;
  std::string_view name;
  std::string_view doc;
  ConfigField field;
  double min = 0;  // range of a number, inclusive
  double max = 0;
  TextRule rule = TextRule::kAny;                  // for texts
  std::span<const std::string_view> choices = {};  // allowed values for kOneOf

  // "section.name"
  std::string dotted() const;
  // "RUVD_SECTION__NAME"
  std::string variable() const;
};

// Returns all keys, grouped by section in the order of `ruvd config show`. The table never changes.
std::span<const ConfigKey> ConfigKeys();
// Returns the dotted names of all keys, in the same order.
std::span<const std::string> ConfigKeyNames();
// Returns the key with this name, or nullptr if the name is unknown.
const ConfigKey* FindConfigKey(std::string_view dotted);

// Checks `value` against the key's type and range and stores it. CONFIG_INVALID names the key, the
// value and what is allowed; the message begins with `source` ("file F", "flag", ...).
absl::Status SetConfigValue(const ConfigKey& key, const ConfigValue& value, std::string_view source,
                            NodeConfig* config);
// Converts the text of a flag or variable to the key's type and then does the same. Commas separate
// the items of a list.
absl::Status SetConfigText(const ConfigKey& key, std::string_view text, std::string_view source,
                           NodeConfig* config);

// Returns the field's value as TOML: quoted text, true, 12, 0.5, ["a", "b"].
std::string ConfigValueToToml(const ConfigKey& key, const NodeConfig& config);
// Describes the allowed values, for example "text", "true or false" or "a whole number from 1 to
// 64".
std::string DescribeConfigType(const ConfigKey& key);

}  // namespace ruvd::config
