// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "privacy/dp/grid_release.h"

namespace ruvd::privacy::dp {

// The noise of a sum to which each contributor adds a share. `colluders` contributors may tell each
// other their shares; the shares of the others alone reach the requested noise (Kairouz, Liu and
// Steinke 2021, "The distributed discrete Gaussian mechanism for federated learning with secure
// aggregation").
struct NoiseShares {
  uint32_t contributors = 0;
  uint32_t colluders = 0;
  uint32_t share_units = 0;  // standard deviation of one share
  // Standard deviation of the noise that the honest contributors add, divided by the clip norm. It
  // is at least the grid's noise multiplier. Do not compute the charge of a release from it: 1 / (2
  // noise_multiplier^2) is below `rho` if the shares are coarse.
  double noise_multiplier = 0;
  // zCDP of the sum for one contributor's update, which is charged to the ledger. A sum of discrete
  // Gaussians is not exactly a discrete Gaussian: see proposition 14 of the same paper; its theorem
  // 1 bounds the difference.
  double rho = 0;
};

// Splits the noise of `grid`, whose sigma_units are those of the whole sum. The sensitivity is the
// grid's clip_units without an allowance for rounding, because ReleaseOnGrid clips again after
// rounding. Fails with INVALID_ARGUMENT unless colluders < contributors <= kMaxCliqueMembers, 1 <=
// dimension <= kMaxUpdateValues, 1 <= clip_units <= kMaxGridUnits and 1 <= sigma_units <=
// kMaxNoiseUnits.
absl::StatusOr<NoiseShares> SplitNoise(const NoiseGrid& grid, uint32_t contributors,
                                       uint32_t colluders, size_t dimension);

// Returns `grid` with the noise of one share, for ReleaseOnGrid.
NoiseGrid NoiseShareGrid(const NoiseGrid& grid, const NoiseShares& shares);

}  // namespace ruvd::privacy::dp
