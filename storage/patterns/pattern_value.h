// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace ruvd::storage {

// The facts that determine the worth of a pattern.
struct PatternMerit {
  float quality = 0;       // 0 to 1
  uint32_t uses = 0;       // retrievals
  int64_t touched_ms = 0;  // when it was last made, changed or retrieved
};

// Returns what a pattern is worth at a moment:
//
//   value = quality * (1 + log2(1 + uses)) * 2^(-age / half_life),  age = now - touched
//
// Uses count by their logarithm, so that a pattern of a former habit does not outlive its
// replacement by years. The value is from 0 to about 33; a `touched` in the future counts as now.
// `half_life_ms` must be above 0.
double PatternValue(const PatternMerit& merit, int64_t now_ms, int64_t half_life_ms);

// Returns a number that orders patterns by their value at any moment. All values decay at the same
// rate, so the order never changes. The number is the binary logarithm of the value at time 0; it
// is minus infinity for a quality of 0.
double PatternRank(const PatternMerit& merit, int64_t half_life_ms);

}  // namespace ruvd::storage
