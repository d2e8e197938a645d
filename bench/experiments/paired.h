// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace ruvd::bench {

// The mean of a sample and its 95 % interval by the percentile bootstrap.
struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

// `values`: one for each document (or another unit that is independent of the others); resampled
// 10,000 times. Zeros for an empty sample.
Interval Bootstrap(std::span<const double> values, uint64_t seed = 1);

// {"mean": ..., "low": ..., "high": ...}
nlohmann::json ToJson(const Interval& interval);

// "-0.12 (-0.14 to -0.10)"
std::string ToText(const Interval& interval);

}  // namespace ruvd::bench
