// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/timestep_histogram.h"

#include <algorithm>
#include <numeric>

namespace ruvd::federation {

TimestepHistogram HistogramOf(const std::array<uint64_t, kScheduleBins>& counts) {
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  TimestepHistogram histogram{};
  if (sum == 0) {
    return histogram;
  }
  std::array<double, kScheduleBins> rest{};
  int left = kScheduleUnit;
  for (size_t i = 0; i < kScheduleBins; ++i) {
    const double exact = static_cast<double>(counts[i]) / sum * kScheduleUnit;
    histogram[i] = static_cast<uint16_t>(exact);
    rest[i] = exact - histogram[i];
    left -= histogram[i];
  }
  std::array<size_t, kScheduleBins> order{};
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return rest[a] > rest[b]; });
  for (size_t i = 0; left > 0; ++i, --left) {
    ++histogram[order[i % kScheduleBins]];
  }
  return histogram;
}

}  // namespace ruvd::federation
