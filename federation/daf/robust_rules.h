// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "federation/daf/aggregation_rule.h"

// Rules of combination, n updates of which f may say anything. All of them scale with the updates,
// but TrimmedMean of fewer than three, which has a clip norm of its own; those that clip by norms
// (SelfClipRule, what hands over to it below five updates, and the start of GeometricMedianRule)
// do not move with a translation of all. Measured against attacks: bench/robust.
namespace ruvd::federation {

// How many of n updates a rule defends against: floor(share * n), at least 1, below n / 2; 0 for
// fewer than three.
size_t FaultyOf(size_t count, double share);
// 0.25: what NNM was measured with; more costs accuracy where nobody lies.
inline constexpr double kFaultyShare = 0.25;

// Weighted mean. Defends against nothing.
class MeanRule final : public AggregationRule {
 public:
  std::string_view name() const override { return "mean"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;
};

// Coordinate-wise median (Yin et al. 2018); with unequal weights the value at half of the weight.
class MedianRule final : public AggregationRule {
 public:
  std::string_view name() const override { return "median"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;
};

// Coordinate-wise trimmed mean (Yin et al. 2018): drops the k lowest and k highest values, k =
// max(1, floor(trim * n)), for n >= 3, whatever they weigh, and takes the weighted mean of the
// rest, the plain one where the rest weighs nothing. Fewer cannot outvote a liar: for n < 3 every
// vector is clipped to `clip_norm` (L2) and the mean is taken, so that with equal weights a lying
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

// Multi-Krum (Blanchard et al. 2017): the score of an update is the sum of its squared distances to
// its n - f - 2 nearest others; the result is the mean of the n - f - 2 lowest scores. f is lowered
// to n >= 2f + 3; below five updates it is SelfClipRule.
class MultiKrumRule final : public AggregationRule {
 public:
  explicit MultiKrumRule(double faulty = kFaultyShare) : faulty_(faulty) {}
  std::string_view name() const override { return "multi_krum"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;
  // Which updates are averaged, ascending; all of fewer than five.
  std::vector<size_t> Select(const RuleInput& input) const;

 private:
  double faulty_;
};

// Geometric median by smoothed Weiszfeld iterations (RFA, Pillutla, Kakade and Harchaoui 2022,
// "Robust aggregation for federated learning", algorithm 2), from the mean of vectors clipped to
// the median norm.
class GeometricMedianRule final : public AggregationRule {
 public:
  explicit GeometricMedianRule(int iterations = 8) : iterations_(iterations) {}
  std::string_view name() const override { return "geometric_median"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;

 private:
  int iterations_;
};

// Nearest-neighbour mixing, then a trimmed mean (Allouah et al. 2023, "Fixing by mixing: a recipe
// for optimal Byzantine ML under heterogeneity", arXiv 2302.01772): every update is replaced by the
// mean of its n - f nearest, itself among them; f lowest and highest are dropped per coordinate,
// whatever they weigh.
// Below five updates it is SelfClipRule.
class NearestNeighbourRule final : public AggregationRule {
 public:
  explicit NearestNeighbourRule(double faulty = kFaultyShare) : faulty_(faulty) {}
  std::string_view name() const override { return "nearest_neighbour_trimmed"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;

 private:
  double faulty_;
};

// Self-centred clipping (He, Karimireddy and Jaggi 2022, "Byzantine-robust decentralized learning
// via ClippedGossip", arXiv 2202.01545): own + sum over peers of w clip(x - own, radius) / sum of
// all w. The radius adapts: the lower median of the peers' distances, at most twice the norm of the
// own update, so that even a single peer is bounded. Without an own update (or with one of zeros)
// the centre is zero and the radius the lower median of the norms.
class SelfClipRule final : public AggregationRule {
 public:
  std::string_view name() const override { return "self_clip"; }
  void Combine(const RuleInput& input, std::span<float> out) const override;
};

// Moves `own` by weight * clip(peer - own, radius), 0 <= weight <= 1: a merge of one update as it
// arrives. Returns the distance that the peer had.
double MergeClipped(std::span<const float> peer, double weight, double radius,
                    std::span<float> own);

// The radius of merges one at a time: the lower median of the last kMaxClipDistances distances, at
// most twice the norm of the own update unless that is zero, as SelfClipRule has it; before there
// are three, the norm of the own update. Not thread-safe.
class ClipRadius {
 public:
  void Add(double distance);
  double For(double own_norm) const;

 private:
  std::vector<double> distances_;
  size_t next_ = 0;
};

// The rule that is used where nothing else is chosen: NearestNeighbourRule from five updates on,
// else SelfClipRule.
const AggregationRule& DefaultRule();

}  // namespace ruvd::federation
