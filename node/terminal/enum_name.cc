// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/enum_name.h"

#include <fmt/format.h>

#include <string_view>

#include "absl/strings/ascii.h"

namespace ruvd::cli {

std::string EnumName(const google::protobuf::EnumDescriptor& type, int number) {
  const google::protobuf::EnumValueDescriptor* value = type.FindValueByNumber(number);
  if (value == nullptr) {
    return fmt::format("{}", number);
  }
  // All values begin with the name of their type, which the first value ends with UNSPECIFIED.
  constexpr std::string_view kFirst = "UNSPECIFIED";
  const std::string& first = type.value(0)->name();
  const size_t prefix = first.ends_with(kFirst) ? first.size() - kFirst.size() : 0;
  if (number == 0 && first.ends_with(kFirst)) {
    return "";
  }
  const std::string& name = value->name();
  return absl::AsciiStrToLower(name.compare(0, prefix, first, 0, prefix) == 0 ? name.substr(prefix)
                                                                              : name);
}

}  // namespace ruvd::cli
