// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/core_grid.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/status.h"

namespace ruvd::inference {
namespace {

constexpr int kMostSteps = 127;
constexpr int kCanonicalSteps = 64;  // a largest value of fewer steps fits on a finer grid

double NormOf(const CoreSet& cores) {
  double squares = 0;
  for (const auto& [target, core] : cores.cores) {
    for (const float value : core.values) {
      squares += double{value} * value;
    }
  }
  return std::sqrt(squares);
}

void Halve(CoreSet* cores) {
  for (auto& [target, core] : cores->cores) {
    for (float& value : core.values) {
      value *= 0.5F;
    }
  }
}

void Round(CoreSet* cores) {
  for (auto& [target, core] : cores->cores) {
    core.values = FromGrid(ToGrid(core.values));
  }
}

long Steps(float value, int exponent) {
  return std::lrint(std::ldexp(static_cast<double>(value), -exponent));
}

}  // namespace

GridValues ToGrid(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) {
    // False for a value that is not a number.
    RUVD_CHECK(std::abs(value) <= std::ldexp(static_cast<float>(kMostSteps), kMaxGridExponent));
    largest = std::max(largest, std::abs(value));
  }
  // 2^exponent holds the largest value in 64 to 127 steps, or in 128 if it is rounded up.
  int exponent = 0;
  std::frexp(largest, &exponent);
  exponent = std::max(exponent - 7, kMinGridExponent);
  exponent += Steps(largest, exponent) > kMostSteps ? 1 : 0;
  GridValues grid{.exponent = static_cast<int8_t>(largest > 0 ? exponent : kMinGridExponent)};
  grid.steps.reserve(values.size());
  for (const float value : values) {
    grid.steps.push_back(static_cast<int8_t>(Steps(value, grid.exponent)));
  }
  return grid;
}

std::vector<float> FromGrid(const GridValues& grid) {
  std::vector<float> values;
  values.reserve(grid.steps.size());
  for (const int8_t steps : grid.steps) {
    values.push_back(std::ldexp(static_cast<float>(steps), grid.exponent));
  }
  return values;
}

bool IsCanonical(const GridValues& grid) {
  int largest = 0;
  for (const int8_t steps : grid.steps) {
    largest = std::max(largest, std::abs(int{steps}));
  }
  return largest <= kMostSteps && grid.exponent >= kMinGridExponent &&
         grid.exponent <= kMaxGridExponent &&
         (grid.exponent == kMinGridExponent || largest >= kCanonicalSteps);
}

bool RoundToGrid(CoreSet* cores, double most) {
  bool halved = false;
  while (NormOf(*cores) > most) {  // before rounding, because a large value has no grid
    Halve(cores);
    halved = true;
  }
  Round(cores);
  while (NormOf(*cores) > most) {  // rounding may raise it a little
    Halve(cores);
    Round(cores);
    halved = true;
  }
  return halved;
}

}  // namespace ruvd::inference
