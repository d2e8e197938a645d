// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/daf/timestep_histogram.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace ruvd::test {
namespace {

RC_GTEST_PROP(TimestepHistogram, AddsUpToTheWholeInProportion, (uint64_t seed)) {
  Random random(seed);
  std::array<uint64_t, federation::kScheduleBins> counts{};
  for (uint64_t& count : counts) {
    count = random.Below(1000);
  }
  counts[3] += 1;
  const federation::TimestepHistogram histogram = federation::HistogramOf(counts);
  RC_ASSERT(std::accumulate(histogram.begin(), histogram.end(), 0) ==
            int{federation::kScheduleUnit});
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (size_t i = 0; i < federation::kScheduleBins; ++i) {
    const double exact = static_cast<double>(counts[i]) / sum * federation::kScheduleUnit;
    RC_ASSERT(std::abs(exact - histogram[i]) < 1);
  }
}

TEST(TimestepHistogram, OfNothingIsZero) {
  EXPECT_EQ(federation::HistogramOf({}), federation::TimestepHistogram{});
}

}  // namespace
}  // namespace ruvd::test
