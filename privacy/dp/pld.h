// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/dp/sampled_gaussian.h"

namespace ruvd::privacy::dp {

// Width of the grid of privacy losses, as in the figures that we compare with.
inline constexpr double kPldInterval = 1e-4;

// A second opinion beside the Renyi accountant, up to three times tighter where q is small: adds up
// privacy loss distributions (Sommer, Meiser and Mohammadi 2019, "Privacy loss classes: the central
// limit theorem in differential privacy") that were rounded so that no epsilon is too small. Not
// thread-safe.
//
// The sum is a circular convolution by Fourier transform (Koskela, Jaelkoe and Honkela 2020,
// "Computing tight differential privacy guarantees using FFT") of distributions that are first
// weighted by e^(theta loss), so that the losses that decide delta lie in the middle and rounding
// is relative to them. What leaves the window at its top is bounded by Chernoff and counted as
// unbounded loss; what wraps around only adds.
class PldAccountant {
 public:
  // `interval` above 0.
  explicit PldAccountant(double interval = kPldInterval) : interval_(interval) {}

  // INVALID_ARGUMENT, and nothing added, for what CheckSampledGaussian refuses.
  absl::Status Compose(const SampledGaussian& mechanism);

  // Smallest epsilon at `delta` of all that was composed, for the worse of the two neighbours.
  // INVALID_ARGUMENT for a delta outside 0 to 1; LIMIT_EXCEEDED for losses so large that the grid
  // would not fit kMaxPldCells.
  absl::StatusOr<double> Epsilon(double delta) const;

 private:
  double interval_;
  std::vector<SampledGaussian> mechanisms_;  // no two of one q and sigma, at most one of q = 1
};

}  // namespace ruvd::privacy::dp
