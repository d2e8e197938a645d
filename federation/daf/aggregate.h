// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/daf/adapter_delta.h"
#include "privacy/identity/node_key.h"

namespace ruvd {

// One node's update. The aggregating node's own one takes part like any other.
struct Contribution {
  NodeId origin{};
  const AdapterDelta* delta = nullptr;  // checked by CheckCores; outlives the call
};

// How the values of one core are combined. Implementations are stateless and thread-safe, and
// never weigh by what a peer claims about itself (federated-privacy section 5).
class AggregationRule {
 public:
  virtual ~AggregationRule() = default;
  virtual std::string_view name() const = 0;
  // Combines n >= 1 vectors of equal length into `out` of that length. The order of `updates` is
  // the order of node ids, so that a sum is the same on every node.
  virtual void Combine(std::span<const std::span<const float>> updates,
                       std::span<float> out) const = 0;
};

// Coordinate-wise trimmed mean (Yin et al. 2018): drops the k lowest and k highest values, k =
// max(1, floor(trim * n)), for n >= 3. Fewer cannot outvote a liar: for n < 3 every core is clipped
// to `clip_norm` (L2) and the plain mean is taken, so a lying peer moves the result by at most
// clip_norm / n.
class TrimmedMean final : public AggregationRule {
 public:
  explicit TrimmedMean(double trim = 0.2, double clip_norm = 1.0)
      : trim_(trim), clip_norm_(clip_norm) {}
  std::string_view name() const override { return "trimmed_mean"; }
  void Combine(std::span<const std::span<const float>> updates,
               std::span<float> out) const override;

 private:
  double trim_;
  double clip_norm_;
};

// Combines contributions core by core, each (target, bank) over those that have it. The result does
// not depend on the order of `contributions`. INVALID_ARGUMENT for none or two of one origin,
// UPDATE_INVALID where ranks of one target differ.
absl::StatusOr<AdapterDelta> Aggregate(std::span<const Contribution> contributions,
                                       const AggregationRule& rule);

}  // namespace ruvd
