// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/dp/sampled_gaussian.h"

namespace ruvd::privacy::dp {

// Cell width of the grid of privacy losses; the reference figures of the tests use the same
inline constexpr double kPldInterval = 1e-4;

// A second accountant, to compare with the Renyi accountant; its epsilon is up to three times
// smaller where q is small. It adds up privacy loss distributions (Sommer, Meiser and Mohammadi
// 2019, "Privacy loss classes: the central limit theorem in differential privacy") that are rounded
// so that no epsilon becomes too small. Not thread-safe.
//
// The sum is a circular convolution by Fourier transform (Koskela, Jaelkoe and Honkela 2020,
// "Computing tight differential privacy guarantees using FFT") of distributions that are first
// weighted by e^(theta loss), so that the losses that decide delta lie in the middle of the window
// and rounding is relative to them. The mass above the window is bounded by Chernoff's inequality
// and counted as unbounded loss; mass that wraps around can only raise the result.
class PldAccountant {
 public:
  // `interval` must be above 0.
  explicit PldAccountant(double interval = kPldInterval) : interval_(interval) {}

  // Adds a mechanism. Fails with INVALID_ARGUMENT, and adds nothing, if CheckSampledGaussian
  // refuses it.
  absl::Status Compose(const SampledGaussian& mechanism);

  // Returns the smallest epsilon at `delta` of everything that was composed, for the worse of the
  // two directions. Fails with INVALID_ARGUMENT for a delta outside (0, 1), and with LIMIT_EXCEEDED
  // if the losses need more than kMaxPldCells cells.
  absl::StatusOr<double> Epsilon(double delta) const;

 private:
  double interval_;
  std::vector<SampledGaussian>
      mechanisms_;  // no two with equal q and sigma, at most one with q = 1
};

}  // namespace ruvd::privacy::dp
