// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace ruvd::federation {

// What a rule combines: n >= 1 vectors of equal length, in the order of node ids, so that a sum is
// the same on every node.
struct RuleInput {
  std::span<const std::span<const float>> updates;
  // n weights of at least 0, one above 0; empty: all equal. What a peer claims about itself must
  // not raise its weight above that of a fresh update that covers the bank (federated-privacy
  // section 5).
  std::span<const double> weights = {};
  // Which one is this node's own; absent where it has none.
  std::optional<size_t> own = std::nullopt;

  double WeightOf(size_t i) const { return weights.empty() ? 1.0 : weights[i]; }
};

// How the values of updates are combined. Implementations are stateless and thread-safe, and the
// same input gives the same bits.
class AggregationRule {
 public:
  virtual ~AggregationRule() = default;
  virtual std::string_view name() const = 0;
  // Into `out`, of the vectors' length.
  virtual void Combine(const RuleInput& input, std::span<float> out) const = 0;
};

}  // namespace ruvd::federation
