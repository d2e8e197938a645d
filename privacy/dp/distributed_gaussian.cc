// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/distributed_gaussian.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

// Returns how far, in log probability, a sum of n discrete Gaussians of parameter `sigma` is from
// one of parameter sigma sqrt(n) (Kairouz, Liu and Steinke 2021, theorem 1).
double SumDistance(double sigma, uint32_t n) {
  double distance = 0;
  for (uint32_t k = 1; k < n; ++k) {
    const double part = static_cast<double>(k) / (k + 1);
    distance += std::exp(-2 * std::numbers::pi * std::numbers::pi * sigma * sigma * part);
  }
  return 10 * distance;
}

}  // namespace

absl::StatusOr<NoiseShares> SplitNoise(const NoiseGrid& grid, uint32_t contributors,
                                       uint32_t colluders, size_t dimension) {
  if (colluders >= contributors || contributors > limits::kMaxCliqueMembers || dimension == 0 ||
      dimension > limits::kMaxUpdateValues || grid.clip_units <= 0 ||
      grid.clip_units > limits::kMaxGridUnits || grid.sigma_units == 0 ||
      grid.sigma_units > limits::kMaxNoiseUnits) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "cannot share noise of {} units on a clip norm of {} units among {} contributors, "
                 "{} of them colluders, for {} values; give 1 to {} units of noise, a clip norm of "
                 "1 to {} units, at most {} contributors, fewer colluders, and 1 to {} values",
                 grid.sigma_units, grid.clip_units, contributors, colluders, dimension,
                 limits::kMaxNoiseUnits, limits::kMaxGridUnits, limits::kMaxCliqueMembers,
                 limits::kMaxUpdateValues);
  }
  NoiseShares shares{.contributors = contributors, .colluders = colluders};
  const uint32_t honest = contributors - colluders;
  const double share = std::ceil(grid.sigma_units / std::sqrt(static_cast<double>(honest)));
  shares.share_units = static_cast<uint32_t>(share);
  const double sum = share * std::sqrt(static_cast<double>(honest));
  const double sensitivity = static_cast<double>(grid.clip_units) / sum;
  shares.noise_multiplier = 1 / sensitivity;
  const double distance = SumDistance(share, honest);
  const auto values = static_cast<double>(dimension);
  const double shifted = sensitivity + std::sqrt(values) * distance;
  shares.rho = std::min(sensitivity * sensitivity / 2 + distance * values, shifted * shifted / 2);
  return shares;
}

NoiseGrid NoiseShareGrid(const NoiseGrid& grid, const NoiseShares& shares) {
  NoiseGrid share = grid;
  share.sigma_units = shares.share_units;
  return share;
}

}  // namespace ruvd::privacy::dp
