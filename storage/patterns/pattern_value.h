// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace ruvd::storage {

// What the worth of a pattern depends on.
struct PatternMerit {
  float quality = 0;       // 0 to 1
  uint32_t uses = 0;       // retrievals
  int64_t touched_ms = 0;  // when it was last made, changed or retrieved
};

// What a pattern is worth at a moment:
//
//   value = quality * (1 + log2(1 + uses)) * 2^(-age / half_life),  age = now - touched
//
// Uses count by their logarithm, so that a pattern of a former habit does not outlive what replaced
// it by years. From 0 to about 33; touched in the future counts as now. `half_life_ms` > 0.
double PatternValue(const PatternMerit& merit, int64_t now_ms, int64_t half_life_ms);

// Orders patterns by their value without a moment: all values decay alike, so that of two patterns
// the same one is worth more at all times. The binary logarithm of the value at the time 0;
// minus infinity for a quality of 0.
double PatternRank(const PatternMerit& merit, int64_t half_life_ms);

}  // namespace ruvd::storage
