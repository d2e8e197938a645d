// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

// Inner loops of the aggregation rules, compiled for several instruction sets of which the best is
// chosen at run time. All give the same bits: sums run in as many lanes whatever the width of the
// machine's vectors, and no product is fused with a sum.
namespace ruvd::federation {

// Sum of (a[i] - b[i])^2, and of a[i] * b[i], in float; for counts of a few thousand.
float SumSquaredDifferences(const float* a, const float* b, size_t count);
float SumProducts(const float* a, const float* b, size_t count);
// out[i] += factor * x[i].
void AddScaled(const float* x, float factor, float* out, size_t count);
// out[i] += factor * (x[i] - centre[i]).
void AddScaledDifference(const float* x, const float* centre, float factor, float* out,
                         size_t count);
// low[i], high[i] = the smaller and the larger of both. NaN is not sorted.
void OrderPairs(float* low, float* high, size_t count);

}  // namespace ruvd::federation
