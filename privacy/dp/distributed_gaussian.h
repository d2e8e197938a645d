// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "privacy/dp/grid_release.h"

namespace ruvd::privacy::dp {

// Noise of a sum that nobody draws alone: each of `contributors` adds a share, and the shares of
// all but `colluders`, who may tell theirs to each other, reach the noise that was asked for
// (Kairouz, Liu and Steinke 2021, "The distributed discrete Gaussian mechanism for federated
// learning with secure aggregation").
struct NoiseShares {
  uint32_t contributors = 0;
  uint32_t colluders = 0;
  uint32_t share_units = 0;  // standard deviation of one share
  // Standard deviation of what the honest ones add, over the clip norm. At least the grid's. Not
  // what a release is charged by: 1 / (2 m^2) is below `rho` where shares are coarse.
  double noise_multiplier = 0;
  // zCDP of the sum for one contributor's update: what the ledger is charged. Sums of discrete
  // Gaussians are not quite discrete Gaussian; there, proposition 14 (theorem 1 has the bound of
  // the difference).
  double rho = 0;
};

// Splits the noise of `grid`, whose sigma_units are those of the whole sum. The sensitivity is the
// grid's clip_units, without an allowance for rounding: ReleaseOnGrid clips again after it.
// INVALID_ARGUMENT unless fewer collude than contribute, at most kMaxCliqueMembers contribute, 1 <=
// dimension <= kMaxUpdateValues, and the grid has 1 to kMaxGridUnits units in its clip norm and 1
// to kMaxNoiseUnits of noise.
absl::StatusOr<NoiseShares> ShareNoise(const NoiseGrid& grid, uint32_t contributors,
                                       uint32_t colluders, size_t dimension);

// `grid` with the noise of one share, for ReleaseOnGrid.
NoiseGrid ShareGrid(const NoiseGrid& grid, const NoiseShares& shares);

}  // namespace ruvd::privacy::dp
