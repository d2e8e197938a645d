// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::privacy::dp {

// 128-bit unsigned integers are an extension of GCC and Clang.
__extension__ typedef unsigned __int128 Uint128;

// Returns the distribution of |X| as thresholds, where X is the discrete Gaussian of parameter
// `sigma` (the probability of an integer k is proportional to e^(-k^2 / (2 sigma^2)); Canonne,
// Kamath and Steinke 2020, definition 1). Entry k is the probability of |X| <= k times 2^127,
// rounded down, for k below 13 sigma. The table is computed in integers alone, so that every
// machine has the same table and no rounding of floats affects the noise. The errors of all entries
// together change the distribution by less than 2^-90. Fails with INVALID_ARGUMENT for a sigma of 0
// or above kMaxNoiseUnits.
absl::StatusOr<std::vector<Uint128>> DiscreteGaussianThresholds(uint32_t sigma);

}  // namespace ruvd::privacy::dp
