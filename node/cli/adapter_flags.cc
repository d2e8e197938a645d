// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/adapter_flags.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::cli {
namespace {

std::optional<float> Number(std::string_view text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

absl::Status Misspelt(std::string_view text) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUsage,
               "--adapter '{}' is not NAME, NAME@VERSION, NAME=WEIGHT or NAME=WEIGHT@T_MIN..T_MAX",
               text);
}

// Removes the part after the last `sign` from `text` and returns it; nullopt if `text` has no
// `sign`.
std::optional<std::string_view> TakeBehind(char sign, std::string_view* text) {
  const size_t at = text->rfind(sign);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view behind = text->substr(at + 1);
  *text = text->substr(0, at);
  return behind;
}

bool ReadRange(std::string_view range, inference::v1::AdapterChoice* choice) {
  const size_t dots = range.find("..");
  const auto low = Number(range.substr(0, dots));
  const auto high = Number(range.substr(dots + 2));
  choice->set_t_min(low.value_or(0));
  choice->set_t_max(high.value_or(1));
  return low.has_value() && high.has_value();
}

bool ReadVersion(std::string_view text, inference::v1::AdapterChoice* choice) {
  uint32_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  choice->set_version(version);
  return error == std::errc() && end == text.data() + text.size();
}

// Reads from the end of the text: a range contains "..", a weight follows '=', and a version
// follows a '@' without "..".
absl::Status ReadOne(std::string_view text, inference::v1::AdapterChoice* choice) {
  std::string_view rest = text;
  const size_t at = rest.rfind('@');
  bool fine = true;
  if (at != std::string_view::npos && rest.find("..", at) != std::string_view::npos) {
    fine = ReadRange(*TakeBehind('@', &rest), choice);
  }
  if (const auto behind = TakeBehind('=', &rest); behind.has_value()) {
    const auto weight = Number(*behind);
    choice->set_weight(weight.value_or(0));
    fine = fine && weight.has_value();
  }
  if (const auto behind = TakeBehind('@', &rest); behind.has_value()) {
    fine = ReadVersion(*behind, choice) && fine;
  }
  choice->set_name(std::string(rest));
  return rest.empty() || !fine ? Misspelt(text) : absl::OkStatus();
}

}  // namespace

void AddAdapterFlags(Verb verb, AdapterFlags& flags) {
  verb.Switch("--no-adapters", flags.none, "Use the base model without any adapter");
  verb.Option("--adapter", flags.chosen,
              "Adapter to use, as NAME[@VERSION][=WEIGHT][@T_MIN..T_MAX] with a name from `ruvd "
              "adapter ls`; it acts while the masked share t is in the range; may be repeated")
      .OneValueEach();
}

absl::Status ReadAdapterFlags(const AdapterFlags& flags,
                              inference::v1::AdapterSelection* selection) {
  selection->set_disabled(flags.none);
  for (const std::string& text : flags.chosen) {
    RETURN_IF_ERROR(ReadOne(text, selection->add_chosen()));
  }
  return absl::OkStatus();
}

}  // namespace ruvd::cli
