// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>

#include "base/parallel.h"
#include "inference/kernels/aligned_buffer.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// The products of linear.h with both factors rounded to bfloat16 and sums in float32, for training.
// Results are equal bit for bit for any number of the runner's threads.

// Returns whether this machine has such products of `w`; otherwise use those of linear.h. It does
// not depend on the number of rows, so that rows have the same results in batches of all sizes.
bool HasRoundedProducts(const Matrix& w);

// Computes y (rows x w.rows) = x (rows x w.columns) times the transpose of w. w must have
// rounded products. `scratch` receives the rounded x.
void MultiplyRounded(ParallelRunner& runner, std::span<const float> x, const Matrix& w,
                     std::span<float> y, AlignedBuffer* scratch);

// Computes dx (rows x w.columns) = dy (rows x w.rows) times w, likewise. With `accumulate` the
// product is added to dx.
void MultiplyTransposedRounded(ParallelRunner& runner, std::span<const float> dy, const Matrix& w,
                               std::span<float> dx, bool accumulate, AlignedBuffer* scratch);

}  // namespace ruvd::inference
