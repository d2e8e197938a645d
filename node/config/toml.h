// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "node/config/keys.h"

namespace ruvd::config {

// One `name = value` of a TOML document, in a section ("" above the first one).
struct TomlEntry {
  std::string section;
  std::string name;
  int line = 0;
  ConfigValue value;
};

// Returns the entries of a document, ordered by line. CONFIG_INVALID for bad syntax, for nesting
// deeper than one section and for values that no key accepts (dates, tables, mixed lists); the
// message names `file` and the line.
absl::StatusOr<std::vector<TomlEntry>> ParseTomlEntries(std::string_view text,
                                                        std::string_view file);

// Returns `text` as a TOML basic string, with the necessary escapes.
std::string QuoteToml(std::string_view text);
// Returns the shortest decimal that reads back as the same float, with a point or an exponent.
std::string FloatToToml(float value);

}  // namespace ruvd::config
