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

// Returns a number that orders patterns by what they are worth, which at any moment is
//
//   quality * (1 + log2(1 + uses)) * 2^(-age / half_life),  age = now - touched
//
// Uses count by their logarithm, so that a pattern of a former habit does not outlive its
// replacement by years. All values decay at the same rate, so the order never changes. The number
// is the binary logarithm of the value at time 0; it is minus infinity for a quality of 0.
// `half_life_ms` must be above 0.
double PatternRank(const PatternMerit& merit, int64_t half_life_ms);

}  // namespace ruvd::storage
