// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ruvd::federation {

// The input of a rule: n >= 1 vectors of equal length, in the order of node ids, so that a sum is
// the same on every node.
struct RuleInput {
  std::span<const std::span<const float>> updates;
  // n weights of at least 0, one of them above 0; empty: all equal. A peer's claims about itself
  // must not raise its weight above that of a fresh update that covers the bank
  std::span<const double> weights = {};
  // The index of this node's own update; absent if it has none
  std::optional<size_t> own = std::nullopt;
  // What is known of the senders from several rounds, for rules that use it: n vectors of equal
  // length, or an empty one for a sender of whom too little is known; empty: nothing is known
  std::span<const std::span<const float>> past = {};
  // The expected square of the noise in each update and in each past, for rules that judge by
  // distances; empty: equal in all
  std::span<const double> noise = {};
  std::span<const double> past_noise = {};
  // What LeftOut returns for this input, if the caller has it already
  std::optional<std::span<const size_t>> left_out = std::nullopt;

  double WeightOf(size_t i) const { return weights.empty() ? 1.0 : weights[i]; }
};

// Combines the values of updates. Implementations are stateless and thread-safe, and equal input
// gives equal bits.
class AggregationRule {
 public:
  virtual ~AggregationRule() = default;
  virtual std::string_view name() const = 0;
  // Writes the result to `out`, which has the length of the vectors.
  virtual void Combine(const RuleInput& input, std::span<float> out) const = 0;
  // Returns which updates have no share in the result, whatever their weights.
  virtual std::vector<size_t> LeftOut(const RuleInput& /*input*/) const { return {}; }
  // Whether the rule uses RuleInput::past.
  virtual bool uses_past() const { return false; }
};

}  // namespace ruvd::federation
