// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ruvd::federation {

// What the sender trained on: the share of its maskings whose masked share t was in (i/10,
// (i+1)/10]. Shares are whole numbers, so that equal schedules are equal bytes. They add up to
// kScheduleUnit, or are all zero if there were no maskings.
inline constexpr size_t kScheduleBins = 10;
inline constexpr uint16_t kScheduleUnit = 65'535;
using TimestepHistogram = std::array<uint16_t, kScheduleBins>;

// Returns the histogram of counts of maskings by tenth of t, rounded by largest remainders; zeros
// if there were no maskings.
TimestepHistogram HistogramOf(const std::array<uint64_t, kScheduleBins>& counts);

}  // namespace ruvd::federation
