// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/adapter_flags.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {
namespace {

std::optional<float> Number(std::string_view text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

absl::Status Misspelt(std::string_view text) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUsage,
               "--adapter '{}' is not NAME, NAME=WEIGHT or NAME=WEIGHT@T_MIN..T_MAX", text);
}

absl::Status ReadOne(std::string_view text, inference::v1::AdapterChoice* choice) {
  std::string_view rest = text;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view range = rest.substr(at + 1);
    const size_t dots = range.find("..");
    const auto low = Number(range.substr(0, std::min(dots, range.size())));
    const auto high =
        dots == std::string_view::npos ? std::nullopt : Number(range.substr(dots + 2));
    if (!low.has_value() || !high.has_value()) {
      return Misspelt(text);
    }
    choice->set_t_min(*low);
    choice->set_t_max(*high);
    rest = rest.substr(0, at);
  }
  if (const size_t equals = rest.rfind('='); equals != std::string_view::npos) {
    const auto weight = Number(rest.substr(equals + 1));
    if (!weight.has_value()) {
      return Misspelt(text);
    }
    choice->set_weight(*weight);
    rest = rest.substr(0, equals);
  }
  choice->set_name(std::string(rest));
  return rest.empty() ? Misspelt(text) : absl::OkStatus();
}

}  // namespace

void AddAdapterFlags(CLI::App& verb, AdapterFlags& flags) {
  verb.add_flag("--no-adapters", flags.none, "The base model alone");
  verb.add_option(
          "--adapter", flags.chosen,
          "NAME[=WEIGHT][@T_MIN..T_MAX] of the node's inference.adapters, in steps of which "
          "so much is masked; may be repeated")
      ->allow_extra_args(false);
}

absl::Status ReadAdapterFlags(const AdapterFlags& flags,
                              inference::v1::AdapterSelection* selection) {
  selection->set_disabled(flags.none);
  for (const std::string& text : flags.chosen) {
    RETURN_IF_ERROR(ReadOne(text, selection->add_chosen()));
  }
  return absl::OkStatus();
}

}  // namespace ruvd
