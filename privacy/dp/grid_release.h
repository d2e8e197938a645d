// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

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

}  // namespace ruvd::privacy::dp
