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

// The grid of a release: values are whole multiples of 2^exponent. The grid is public and fixed
// before any data is seen.
struct NoiseGrid {
  int exponent = 0;
  int64_t clip_units = 0;    // the clip norm in whole units, which is the sensitivity
  uint32_t sigma_units = 0;  // standard deviation of the noise
  // Returns the noise multiplier for the accountant, which is at least the requested one.
  double NoiseMultiplier() const {
    return static_cast<double>(sigma_units) / static_cast<double>(clip_units);
  }
};

// Returns the coarsest grid on which the clip norm has at least kMinClipUnits units and rounding
// moves a vector of `dimension` values by at most an eighth of the clip norm. Fails with
// INVALID_ARGUMENT unless the clip norm is finite and above 0 and the multiplier is in the range of
// CheckSampledGaussian, and with LIMIT_EXCEEDED if the noise would pass kMaxNoiseUnits or the
// dimension passes kMaxUpdateValues.
absl::StatusOr<NoiseGrid> MakeNoiseGrid(double clip_norm, double noise_multiplier,
                                        size_t dimension);

// Scales integers to a Euclidean norm of at most `clip_units`, in integer arithmetic that rounds
// towards zero. Does not change them if their norm is small enough. Takes at most kMaxUpdateValues
// values with a magnitude of at most kMaxGridUnits each.
void ClipIntegers(std::span<int32_t> units, int64_t clip_units);

// An update that may leave the node: all banks in order, in units of the grid, clipped and noised.
struct NoisedUpdate {
  int exponent = 0;
  std::vector<int32_t> units;
  // Returns the value in floating point, which is exact.
  double ValueAt(size_t i) const;
};

// Makes one release of the discrete Gaussian mechanism: clips all banks jointly (in place), rounds
// to the grid, clips again in integers and adds integer noise. Noise and noised values are never
// computed in floating point, because their last bits would reveal information about the input
// (Mironov 2012, "On significance of the least significant bits for differential privacy"). The
// release is 1 / (2 m^2)-zCDP for adding or removing the update's owner, where m is the grid's
// NoiseMultiplier. The caller must have charged that to the ledger before. Fails as ClipJointly
// does, and with INVALID_ARGUMENT for a `noise` that is not the grid's.
absl::StatusOr<NoisedUpdate> ReleaseOnGrid(Banks banks, std::span<const size_t> layout,
                                           const NoiseGrid& grid, const DiscreteGaussian& noise,
                                           const RandomBytes& random);

}  // namespace ruvd::privacy::dp
