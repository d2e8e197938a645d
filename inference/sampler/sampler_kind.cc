// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/sampler_kind.h"

#include <array>
#include <span>

namespace ruvd::inference {
namespace {

// These are in the order of the enumerations.
constexpr std::array<std::string_view, 11> kSamplers = {
    "ancestral", "low_confidence", "margin",          "entropy", "random", "position",
    "threshold", "factor",         "entropy_bounded", "klass",   "remdm"};
constexpr std::array<std::string_view, 3> kRemasks = {"cap", "rescale", "confidence"};

template <typename Kind>
std::optional<Kind> ByName(std::span<const std::string_view> names, std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return static_cast<Kind>(i);
    }
  }
  return std::nullopt;
}

std::string Join(std::span<const std::string_view> names) {
  std::string joined;
  for (const std::string_view name : names) {
    joined += joined.empty() ? "" : ", ";
    joined += name;
  }
  return joined;
}

}  // namespace

std::string_view SamplerName(SamplerKind kind) {
  return kSamplers[static_cast<size_t>(kind)];
}
std::optional<SamplerKind> SamplerByName(std::string_view name) {
  return ByName<SamplerKind>(kSamplers, name);
}
std::optional<RemaskKind> RemaskByName(std::string_view name) {
  return ByName<RemaskKind>(kRemasks, name);
}
std::string SamplerNames() {
  return Join(kSamplers);
}
std::string RemaskNames() {
  return Join(kRemasks);
}

}  // namespace ruvd::inference
