// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/dp/joint_clip.h"

namespace ruvd::privacy::dp {

// The grid of a release: values are whole multiples of 2^exponent. Public and fixed before any data
// is seen.
struct NoiseGrid {
  int exponent = 0;
  int64_t clip_units = 0;    // whole units in the clip norm: the sensitivity
  uint32_t sigma_units = 0;  // standard deviation of the noise
  // What the accountant is told: at least what was asked for.
  double NoiseMultiplier() const {
    return static_cast<double>(sigma_units) / static_cast<double>(clip_units);
  }
};

// The coarsest grid on which rounding `dimension` values moves them by at most an eighth of the
// clip norm, and with at least kMinClipUnits units. INVALID_ARGUMENT unless the norm is a number
// above 0 and the multiplier in the range of CheckSampledGaussian; LIMIT_EXCEEDED where the noise
// would pass kMaxNoiseUnits or the dimension kMaxUpdateValues.
absl::StatusOr<NoiseGrid> MakeNoiseGrid(double clip_norm, double noise_multiplier,
                                        size_t dimension);

// Scales integers to a Euclidean norm of at most `clip_units`, in integers, rounding towards zero;
// unchanged where they have it. At most kMaxUpdateValues values of at most kMaxGridUnits each.
void ClipIntegers(std::span<int32_t> units, int64_t clip_units);

// What may leave: all banks in their order, in units of the grid, clipped and noised.
struct NoisedUpdate {
  int exponent = 0;
  std::vector<int32_t> units;
  // The value in floating point, exact.
  double ValueAt(size_t i) const;
};

// One release of the discrete Gaussian mechanism: clips all banks jointly (and leaves them so),
// rounds to the grid, clips again in integers, adds integer noise. No float touches noise or
// noised values, whose last bits would tell about the input (Mironov 2012, "On significance of the
// least significant bits for differential privacy"). It is 1 / (2 m^2)-zCDP, m the grid's
// NoiseMultiplier, for adding or removing the update's owner. The caller has charged that to the
// ledger before. Errors of ClipJointly; INVALID_ARGUMENT for a `noise` that is not the grid's.
absl::StatusOr<NoisedUpdate> ReleaseOnGrid(Banks banks, std::span<const size_t> layout,
                                           const NoiseGrid& grid, const DiscreteGaussian& noise,
                                           const RandomBytes& random);

}  // namespace ruvd::privacy::dp
