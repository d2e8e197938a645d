// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/paired.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace ruvd::bench {

Interval Bootstrap(std::span<const double> values, uint64_t seed) {
  constexpr size_t kSamples = 10'000;
  constexpr size_t kTail = kSamples / 40;  // 2.5 %
  if (values.empty()) {
    return {};
  }
  const auto count = static_cast<double>(values.size());
  Random random(seed);
  std::vector<double> means(kSamples);
  for (double& mean : means) {
    for (size_t i = 0; i < values.size(); ++i) {
      mean += values[random.Below(values.size())];
    }
    mean /= count;
  }
  std::ranges::sort(means);
  return {.mean = std::accumulate(values.begin(), values.end(), 0.0) / count,
          .low = means[kTail],
          .high = means[kSamples - 1 - kTail]};
}

nlohmann::json ToJson(const Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

std::string ToText(const Interval& interval) {
  return fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", interval.mean, interval.low, interval.high);
}

}  // namespace ruvd::bench
