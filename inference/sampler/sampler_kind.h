// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ruvd::inference {

// Which masked positions a denoising step commits (commit_rule.h describes each rule).
enum class SamplerKind : uint8_t {
  kAncestral,
  kLowConfidence,
  kMargin,
  kEntropy,
  kRandom,
  kPosition,
  kThreshold,
  kFactor,
  kEntropyBounded,
  kKlass,
  kRemdm,
};

// How many committed positions kRemdm masks again (arXiv 2503.00307).
enum class RemaskKind : uint8_t { kCap, kRescale, kConfidence };

// The names used in requests, flags and documents, e.g. "low_confidence".
std::string_view SamplerName(SamplerKind kind);
std::optional<SamplerKind> SamplerByName(std::string_view name);
std::optional<RemaskKind> RemaskByName(std::string_view name);

// All names, separated by ", ", for messages.
std::string SamplerNames();
std::string RemaskNames();

}  // namespace ruvd::inference
