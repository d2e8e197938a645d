// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/grid_release.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

// Rounding moves each value by at most half a unit, and the whole vector by at most sqrt(dimension)
// / 2.
constexpr double kUnitsPerRootDimension = 4;

// Returns the smallest integer whose square is at least `square`.
uint64_t RootAbove(uint64_t square) {
  auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(square)));
  while (root * root >= square && root > 0) {
    --root;
  }
  while (root * root < square) {
    ++root;
  }
  return root;
}

}  // namespace

absl::StatusOr<NoiseGrid> MakeNoiseGrid(double clip_norm, double noise_multiplier,
                                        size_t dimension) {
  RETURN_IF_ERROR(CheckSampledGaussian({.sigma = noise_multiplier}));
  if (!(clip_norm > 0 && std::isfinite(clip_norm))) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "clip norm {} is not a finite number above 0; give a typical norm of public updates",
        clip_norm);
  }
  if (dimension > limits::kMaxUpdateValues) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "an update has {} values, more than the limit of {}; share a smaller rank",
                 dimension, limits::kMaxUpdateValues);
  }
  const double wanted = std::max(static_cast<double>(limits::kMinClipUnits),
                                 kUnitsPerRootDimension * std::sqrt(dimension));
  NoiseGrid grid{.exponent = static_cast<int>(std::floor(std::log2(clip_norm / wanted)))};
  grid.clip_units = static_cast<int64_t>(std::floor(std::ldexp(clip_norm, -grid.exponent)));
  const double sigma = std::ceil(noise_multiplier * static_cast<double>(grid.clip_units));
  if (sigma > limits::kMaxNoiseUnits) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "noise of {} units for {} values is above the limit of {} units and would drown "
                 "the update; share a smaller rank or use less noise",
                 sigma, dimension, limits::kMaxNoiseUnits);
  }
  grid.sigma_units = static_cast<uint32_t>(sigma);
  return grid;
}

void ClipIntegers(std::span<int32_t> units, int64_t clip_units) {
  RUVD_CHECK(units.size() <= limits::kMaxUpdateValues && clip_units > 0 &&
             clip_units <= limits::kMaxGridUnits);
  uint64_t squares = 0;
  for (const int32_t unit : units) {
    RUVD_CHECK(unit <= limits::kMaxGridUnits && unit >= -limits::kMaxGridUnits);
    squares += static_cast<uint64_t>(int64_t{unit} * unit);
  }
  const auto root = static_cast<int64_t>(RootAbove(squares));
  if (root <= clip_units) {
    return;
  }
  for (int32_t& unit : units) {
    unit = static_cast<int32_t>(unit * clip_units / root);
  }
}

}  // namespace ruvd::privacy::dp
