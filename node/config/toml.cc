// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/config/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::config {
namespace {

int LineOf(const toml::node& node) {
  return static_cast<int>(node.source().begin.line);
}

std::optional<ConfigValue> Convert(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) {
    return *text;
  }
  if (const auto flag = node.value_exact<bool>()) {
    return *flag;
  }
  if (const auto whole = node.value_exact<int64_t>()) {
    return *whole;
  }
  if (const auto real = node.value_exact<double>()) {
    return *real;
  }
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    return std::nullopt;
  }
  std::vector<std::string> list;
  list.reserve(array->size());
  for (const toml::node& item : *array) {
    auto text = item.value_exact<std::string>();
    if (!text) {
      return std::nullopt;
    }
    list.push_back(*std::move(text));
  }
  return list;
}

absl::Status Append(std::string_view file, std::string_view section, std::string_view name,
                    const toml::node& node, std::vector<TomlEntry>* entries) {
  auto value = Convert(node);
  if (!value) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "file {}:{}: \"{}\" is a table, a date or a mixed list, which no key accepts; see "
                 "`ruvd config show`",
                 file, LineOf(node), name);
  }
  entries->push_back({std::string(section), std::string(name), LineOf(node), *std::move(value)});
  return absl::OkStatus();
}

// TOML allows no control characters except tab and line ends. They are refused here first, so that
// none reaches an error message.
absl::Status CheckCharacters(std::string_view text, std::string_view file) {
  int line = 1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    line += c == '\n' ? 1 : 0;
    if ((byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                   "file {}:{}: control character 0x{:02X} is not allowed in TOML; remove it", file,
                   line, byte);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<toml::table> Parse(std::string_view text, std::string_view file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "file {}:{}: {}; correct the TOML syntax", file,
                 static_cast<int>(error.source().begin.line), error.description());
  } catch (const std::exception& error) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "file {}: {}; correct the TOML syntax", file, error.what());
  }
}

}  // namespace

absl::StatusOr<std::vector<TomlEntry>> ParseTomlEntries(std::string_view text,
                                                        std::string_view file) {
  RETURN_IF_ERROR(CheckCharacters(text, file));
  ASSIGN_OR_RETURN(const toml::table document, Parse(text, file));
  std::vector<TomlEntry> entries;
  for (const auto& [section, node] : document) {
    const toml::table* table = node.as_table();
    if (table == nullptr) {
      RETURN_IF_ERROR(Append(file, "", section.str(), node, &entries));
      continue;
    }
    for (const auto& [name, value] : *table) {
      RETURN_IF_ERROR(Append(file, section.str(), name.str(), value, &entries));
    }
  }
  std::ranges::stable_sort(entries, {}, &TomlEntry::line);
  return entries;
}

std::string QuoteToml(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      out.append(1, c);
    }
  }
  return out.append(1, '"');
}

std::string FloatToToml(float value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

}  // namespace ruvd::config
