// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

// Inner loops of the aggregation rules, compiled for several instruction sets; the best one is
// chosen at run time. All of them give the same bits: sums use the same number of lanes whatever
// the vector width of the machine, and products are never fused with sums.
namespace ruvd::federation {

// Return the sum of (a[i] - b[i])^2, and of a[i] * b[i], in float; for counts of a few thousand.
float SumSquaredDifferences(const float* a, const float* b, size_t count);
float SumProducts(const float* a, const float* b, size_t count);
// Adds factor * x[i] to out[i].
void AddScaled(const float* x, float factor, float* out, size_t count);
// Adds factor * (x[i] - centre[i]) to out[i].
void AddScaledDifference(const float* x, const float* centre, float factor, float* out,
                         size_t count);
// Sets low[i] and high[i] to the smaller and the larger of both. NaN is not sorted.
void OrderPairs(float* low, float* high, size_t count);

}  // namespace ruvd::federation
