// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "federation/daf/aggregation_rule.h"

// Rules that combine n updates, f of which may be arbitrary. All of them scale with the updates,
// except TrimmedMean for fewer than three updates, which has its own clip norm. Rules that clip by
// norms (SelfClipRule, the rules that use it below five updates, and the start of
// GeometricMedianRule) or judge by angles (FilteredMeanRule) do not follow a common translation of
// all updates. bench/robust measures the rules against attacks in single rounds, and
// bench/experiments/round_arms.py the default rule, which uses earlier rounds, in whole
// federations.
namespace ruvd::federation {

// Returns against how many of n updates a rule defends: floor(share * n), but at least 1 and below
// n / 2; 0 for fewer than three updates.
size_t ToleratedFaults(size_t count, double share);
// 0.25 is the value that NNM was measured with; a larger one costs accuracy when no update lies.
inline constexpr double kFaultyShare = 0.25;

// The weighted mean. It does not defend against any attack.
class MeanRule final : public AggregationRule {
 public:
  std::string_view name() const override { return "mean"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;
};

// The coordinate-wise median (Yin et al. 2018); with unequal weights, the value at half of the
// weight.
class MedianRule final : public AggregationRule {
 public:
  std::string_view name() const override { return "median"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;
};

// The coordinate-wise trimmed mean (Yin et al. 2018). For n >= 3 it drops the k lowest and the k
// highest values, k = max(1, floor(trim * n)), whatever their weights, and takes the weighted mean
// of the rest (the plain mean if the rest has no weight). Fewer updates cannot outvote a liar: for
// n < 3 every vector is clipped to `clip_norm` (L2) before the mean, so with equal weights a lying
// peer moves the result by at most clip_norm / n.
class TrimmedMean final : public AggregationRule {
 public:
  explicit TrimmedMean(double trim = 0.2, double clip_norm = 1.0)
      : trim_(trim), clip_norm_(clip_norm) {}
  std::string_view name() const override { return "trimmed_mean"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;

 private:
  double trim_;
  double clip_norm_;
};

// The rule Multi-Krum (Blanchard et al. 2017). The score of an update is the sum of its squared
// distances to its n - f - 2 nearest others; the result is the mean of the n - f - 2 updates with
// the lowest scores. f is lowered until n >= 2f + 3. Below five updates SelfClipRule is used.
class MultiKrumRule final : public AggregationRule {
 public:
  explicit MultiKrumRule(double faulty = kFaultyShare) : faulty_(faulty) {}
  std::string_view name() const override { return "multi_krum"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;
  // Returns the updates that are averaged, ascending; with fewer than five, all of them.
  std::vector<size_t> Select(const RuleInput& input) const;

 private:
  double faulty_;
};

// The geometric median, computed by smoothed Weiszfeld iterations (RFA, Pillutla, Kakade and
// Harchaoui 2022, "Robust aggregation for federated learning", algorithm 2), starting from the mean
// of the vectors clipped to the median norm.
class GeometricMedianRule final : public AggregationRule {
 public:
  explicit GeometricMedianRule(int iterations = 8) : iterations_(iterations) {}
  std::string_view name() const override { return "geometric_median"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;

 private:
  int iterations_;
};

// Nearest-neighbour mixing, then a trimmed mean (Allouah et al. 2023, "Fixing by mixing: a recipe
// for optimal Byzantine ML under heterogeneity", arXiv 2302.01772). Every update is replaced by the
// mean of its n - f nearest ones, including itself; then the f lowest and f highest values per
// coordinate are dropped, whatever their weights. Below five updates SelfClipRule is used.
class NearestNeighbourRule final : public AggregationRule {
 public:
  explicit NearestNeighbourRule(double faulty = kFaultyShare) : faulty_(faulty) {}
  std::string_view name() const override { return "nearest_neighbour_trimmed"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;

 private:
  double faulty_;
};

// The weighted mean without updates that stand apart (Outliers), at most ToleratedFaults of them.
// Below five updates SelfClipRule is used. Nearest-neighbour mixing loses more of what a node of an
// unusual domain gives under the noise of private tiers.
class FilteredMeanRule final : public AggregationRule {
 public:
  explicit FilteredMeanRule(double faulty = kFaultyShare) : faulty_(faulty) {}
  std::string_view name() const override { return "filtered_mean"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;
  std::vector<size_t> LeftOut(const RuleInput& input) const override;
  bool uses_past() const override { return true; }

 private:
  double faulty_;
};

// Self-centred clipping (He, Karimireddy and Jaggi 2022, "Byzantine-robust decentralized learning
// via ClippedGossip", arXiv 2202.01545): own + sum over peers of w clip(x - own, radius) / sum of
// all w. The radius adapts: it is the lower median of the peers' distances, at most twice the norm
// of the own update, so that even a single peer is bounded. Without an own update (or with one of
// zeros) the centre is zero and the radius is the lower median of the norms.
class SelfClipRule final : public AggregationRule {
 public:
  std::string_view name() const override { return "self_clip"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;
};

// Returns the default rule: FilteredMeanRule, which is SelfClipRule below five updates.
const AggregationRule& DefaultRule();

// Makes the rule with this name(), or the default rule for "default". Rules that defend against a
// share of updates get `faulty`. Null for an unknown name.
std::unique_ptr<const AggregationRule> RuleByName(std::string_view name, double faulty);

}  // namespace ruvd::federation
