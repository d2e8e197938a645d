// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/running_mean.h"

#include <cstdint>

#include "base/status.h"

namespace ruvd::federation {
namespace {

constexpr double kKept = 0.9;

// The last bit of SplitMix64 (Steele, Lea and Flood 2014) at `index`.
bool IsNegative(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return ((z ^ (z >> 31)) & 1) != 0;
}

}  // namespace

void RunningMean::Add(uint64_t in_round, std::span<const float> values) {
  round = in_round;
  weighted.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    weighted[i] = static_cast<float>(kKept * double{weighted[i]} + (1 - kKept) * double{values[i]});
  }
  weight = kKept * weight + (1 - kKept);
}

double RunningMean::NoiseShare() const {
  RUVD_CHECK(weight > 0);
  // The sum of the squares of the vectors' shares, of which the newest has (1 - kKept) / weight.
  return (1 - kKept) * (2 - weight) / ((1 + kKept) * weight);
}

std::vector<float> RunningMean::Mean() const {
  RUVD_CHECK(weight > 0);
  std::vector<float> mean(weighted.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    mean[i] = static_cast<float>(double{weighted[i]} / weight);
  }
  return mean;
}

std::vector<float> Folded(std::span<const float> values, size_t most) {
  if (values.size() <= most) {
    return {values.begin(), values.end()};
  }
  std::vector<float> folded(most);
  for (size_t i = 0; i < values.size(); ++i) {
    folded[i % most] += IsNegative(i) ? -values[i] : values[i];
  }
  return folded;
}

}  // namespace ruvd::federation
