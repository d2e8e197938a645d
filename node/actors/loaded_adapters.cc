// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/loaded_adapters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/reasons.h"
#include "base/shown.h"
#include "base/status.h"
#include "inference/adapter/adapter_file.h"
#include "node/limits.h"

namespace ruvd {
namespace {

struct Entry {
  std::string file;
  float weight = 1;
};

// A file's name may hold '=' itself: what stands behind the last one counts if it is a number.
Entry ReadEntry(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals != std::string::npos) {
    float weight = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data() + equals + 1, end, weight);
    if (error == std::errc() && read == end) {
      return {.file = text.substr(0, equals), .weight = weight};
    }
  }
  return {.file = text};
}

bool ValidWeight(float weight) {
  return std::abs(weight) <= limits::kMaxAdapterWeight;  // false for NaN
}

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

auto HasName(std::string_view name) {
  return [name](const AdapterMix::Part& part) { return part.adapter->name == name; };
}

}  // namespace

absl::StatusOr<LoadedAdapters> LoadedAdapters::Load(std::span<const std::string> entries,
                                                    const Model& model) {
  if (entries.size() > limits::kMaxLoadedAdapters) {
    return Invalid("inference.adapters has {} files; at most {} can be loaded", entries.size(),
                   limits::kMaxLoadedAdapters);
  }
  LoadedAdapters loaded;
  for (const std::string& text : entries) {
    const Entry entry = ReadEntry(text);
    if (!ValidWeight(entry.weight)) {
      return Invalid("inference.adapters: the weight of {} must be between -{} and {}", text,
                     limits::kMaxAdapterWeight, limits::kMaxAdapterWeight);
    }
    auto adapter = LoadAdapterFile(entry.file, model);
    if (!adapter.ok()) {
      return Annotate(adapter.status(), "inference.adapters");
    }
    const std::string& name = (*adapter)->name;
    if (std::any_of(loaded.adapters_.begin(), loaded.adapters_.end(), HasName(name))) {
      return Invalid(
          "inference.adapters: {} has the name '{}' that another file has; requests choose "
          "adapters by name, so change general.name or leave one out",
          entry.file, name);
    }
    loaded.adapters_.push_back({.adapter = *std::move(adapter), .weight = entry.weight});
  }
  return loaded;
}

absl::StatusOr<std::vector<RangedPart>> LoadedAdapters::Choose(
    std::span<const AdapterChoice> choices) const {
  std::vector<RangedPart> parts;
  if (choices.empty()) {
    for (const AdapterMix::Part& part : adapters_) {
      parts.push_back({.part = part});
    }
  }
  for (size_t i = 0; i < choices.size(); ++i) {
    const AdapterChoice& choice = choices[i];
    const auto found = std::find_if(adapters_.begin(), adapters_.end(), HasName(choice.name));
    if (found == adapters_.end()) {
      std::string known;
      for (const AdapterMix::Part& part : adapters_) {
        known += fmt::format("{}{}", known.empty() ? "" : ", ", part.adapter->name);
      }
      // Without the name: the witness log keeps the message, and a name may be a user's words.
      return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                   "adapter {} of the request is none that the node has loaded; it has {}", i + 1,
                   known.empty() ? "none: see inference.adapters" : known);
    }
    parts.push_back({.part = {.adapter = found->adapter, .weight = choice.weight},
                     .t_min = choice.t_min,
                     .t_max = choice.t_max});
  }
  std::erase_if(parts, [](const RangedPart& part) { return part.part.weight == 0; });
  return parts;
}

absl::Status CheckAdapterChoice(const AdapterChoice& choice) {
  const std::string name = Shown(choice.name);
  if (!ValidWeight(choice.weight)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the weight of adapter '{}' must be between -{} and {}", name,
                 limits::kMaxAdapterWeight, limits::kMaxAdapterWeight);
  }
  if (!(choice.t_min >= 0 && choice.t_min < choice.t_max && choice.t_max <= 1)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the range of adapter '{}' must satisfy 0 <= t_min < t_max <= 1", name);
  }
  return absl::OkStatus();
}

}  // namespace ruvd
