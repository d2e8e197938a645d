// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/grid_release.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/limits.h"
#include "privacy/sodium.h"

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

std::vector<int32_t> RoundToGrid(Banks banks, int exponent) {
  std::vector<int32_t> units;
  for (const std::span<float> bank : banks) {
    for (const float value : bank) {
      const double scaled = std::ldexp(static_cast<double>(value), -exponent);
      units.push_back(static_cast<int32_t>(
          std::lrint(std::clamp(scaled, -static_cast<double>(limits::kMaxGridUnits),
                                static_cast<double>(limits::kMaxGridUnits)))));
    }
  }
  return units;
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

double NoisedUpdate::ValueAt(size_t i) const {
  return std::ldexp(static_cast<double>(units[i]), exponent);
}

absl::StatusOr<NoisedUpdate> ReleaseOnGrid(Banks banks, std::span<const size_t> layout,
                                           const NoiseGrid& grid, const DiscreteGaussian& noise,
                                           const RandomBytes& random) {
  if (noise.sigma() != grid.sigma_units || grid.clip_units <= 0 ||
      grid.clip_units > limits::kMaxGridUnits) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the noise has {} units but the grid is for {}; make both from one clip norm and "
                 "multiplier",
                 noise.sigma(), grid.sigma_units);
  }
  const double clip_norm = std::ldexp(static_cast<double>(grid.clip_units), grid.exponent);
  RETURN_IF_ERROR(ClipJointly(banks, layout, clip_norm).status());
  NoisedUpdate update{.exponent = grid.exponent, .units = RoundToGrid(banks, grid.exponent)};
  ClipIntegers(update.units, grid.clip_units);
  std::vector<int32_t> drawn(update.units.size());
  noise.Sample(random, drawn);
  for (size_t i = 0; i < drawn.size(); ++i) {
    update.units[i] += drawn[i];
  }
  SecureWipe({reinterpret_cast<uint8_t*>(drawn.data()), drawn.size() * sizeof(int32_t)});
  return update;
}

}  // namespace ruvd::privacy::dp
