// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "privacy/dp/discrete_gaussian.h"

namespace ruvd::privacy::dp {

// A clip norm that follows a quantile of the norms of updates, learned under differential privacy
// (Andrew, Thakkar, McMahan and Ramaswamy 2021, "Differentially private learning with adaptive
// clipping", algorithm 1): C <- C e^(-eta (b - gamma)), where b is the noised share of updates
// whose norm is at most C. Nothing else about the norms is kept. It needs many contributors in one
// round; a single node should use a fixed clip norm. Not thread-safe.
class AdaptiveClip {
 public:
  struct Options {
    double initial = 1;     // clip norm of the first round, above 0
    double quantile = 0.5;  // gamma, 0 to 1
    double rate = 0.2;      // eta, above 0, at most 2
    // Expected contributors of a round; this number is public and at least kMinAdaptiveContributors
    uint32_t contributors = 0;
  };

  // Fails with INVALID_ARGUMENT for options out of range.
  static absl::StatusOr<AdaptiveClip> Create(const Options& options);

  double clip_norm() const { return clip_norm_; }
  // Returns the standard deviation of the noise on the count (the paper's sigma_b): a twentieth of
  // the contributors, at least 1/2.
  double CountSigma() const { return noise_.sigma() / 2.0; }

  // Ends a round in which `within` of `present` contributors had a norm of at most clip_norm():
  // discrete noise is added to the count before anything is computed from it. Fails with
  // INVALID_ARGUMENT if `within` exceeds `present` or `present` exceeds twice the expected
  // contributors.
  absl::Status EndRound(uint32_t within, uint32_t present, const RandomBytes& random);

 private:
  AdaptiveClip(const Options& options, DiscreteGaussian noise);

  Options options_;
  DiscreteGaussian noise_;  // on `within` minus the number beyond, which is twice the centred count
  double clip_norm_;
};

// Returns the noise multiplier for the sum of the updates with which the sum and the count together
// cost as much as one release at `multiplier`: (multiplier^-2 - (2 count_sigma)^-2)^-1/2 (theorem 1
// of the same paper). Fails with INVALID_ARGUMENT unless 2 count_sigma > multiplier, because
// otherwise the count alone costs as much.
absl::StatusOr<double> SumMultiplier(double multiplier, double count_sigma);

}  // namespace ruvd::privacy::dp
