// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "privacy/dp/discrete_gaussian.h"

namespace ruvd::privacy::dp {

// A clip norm that follows a quantile of the norms of updates, learned under differential privacy
// (Andrew, Thakkar, McMahan and Ramaswamy 2021, "Differentially private learning with adaptive
// clipping", algorithm 1): C <- C e^(-eta (b - gamma)), b the noised share of updates whose norm is
// at most C. Nothing else about the norms is kept. It needs many contributors in one round; a node
// alone fixes its clip norm. Not thread-safe.
class AdaptiveClip {
 public:
  struct Options {
    double initial = 1;     // clip norm of the first round, above 0
    double quantile = 0.5;  // gamma, 0 to 1
    double rate = 0.2;      // eta, above 0, at most 2
    // Expected contributors of a round, public; at least kMinAdaptiveContributors.
    uint32_t contributors = 0;
  };

  // INVALID_ARGUMENT for options out of range.
  static absl::StatusOr<AdaptiveClip> Create(const Options& options);

  double clip_norm() const { return clip_norm_; }
  // The paper's sigma_b, standard deviation of the noise on the count: a twentieth of the
  // contributors, at least 1/2.
  double CountSigma() const { return noise_.sigma() / 2.0; }

  // Ends a round in which `within` of `present` contributors had a norm of at most clip_norm():
  // discrete noise comes on the count before anything is computed from it. INVALID_ARGUMENT for
  // more within than present, or more than twice the expected contributors.
  absl::Status EndRound(uint32_t within, uint32_t present, const RandomBytes& random);

 private:
  AdaptiveClip(const Options& options, DiscreteGaussian noise);

  Options options_;
  DiscreteGaussian noise_;  // of within less beyond, which is twice the centred count
  double clip_norm_;
};

// Noise multiplier of the updates' sum so that it and the count together cost what one release at
// `multiplier` costs: (multiplier^-2 - (2 count_sigma)^-2)^-1/2 (there, theorem 1).
// INVALID_ARGUMENT where the count alone costs as much: 2 count_sigma must be above the multiplier.
absl::StatusOr<double> SumMultiplier(double multiplier, double count_sigma);

}  // namespace ruvd::privacy::dp
