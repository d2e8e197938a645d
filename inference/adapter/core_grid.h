// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inference/adapter/adapter_kinds.h"

namespace ruvd::inference {

// A grid has one of these exponents. Finer values are rounded away; larger ones have no grid.
inline constexpr int kMinGridExponent = -100;
inline constexpr int kMaxGridExponent = 93;

// The values of a core in eight bits each: steps[i] * 2^exponent, which a float holds exactly.
struct GridValues {
  int8_t exponent = kMinGridExponent;
  std::vector<int8_t> steps;  // -127 to 127
  bool operator==(const GridValues&) const = default;
};

// Returns the nearest values on the finest grid that reaches the largest of them. The values must
// be finite and at most 127 * 2^kMaxGridExponent in size. ToGrid(FromGrid(grid)) is the same grid
// if IsCanonical(grid).
GridValues ToGrid(std::span<const float> values);
std::vector<float> FromGrid(const GridValues& grid);

// Returns whether ToGrid could have returned this grid. Equal values have one canonical grid.
bool IsCanonical(const GridValues& grid);

// Rounds the values of cores, which must be finite, to their grids. If the norm of all values is
// above `most` (above 0), they are halved until it is not. Returns whether they were halved.
bool RoundToGrid(CoreSet* cores, double most);

}  // namespace ruvd::inference
