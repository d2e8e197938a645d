// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "inference/adapter/adapter.h"
#include "inference/numerics/dense.h"

namespace ruvd::inference {

// Converts changes of one matrix between their forms.

struct WeightedChange {
  const LowRank* change = nullptr;
  double weight = 1;
};

// Returns the weighted sum of changes of one shape, exactly: the A factors below each other, and
// the scaled and weighted B factors side by side. The ranks add. The scale is 1.
LowRank StackChanges(std::span<const WeightedChange> changes);

// Returns scale * B A as a matrix (out x in).
DenseMatrix ToDenseMatrix(const LowRank& change);

// Returns the best approximation of a change with rank at most `rank` (1 or more), computed from
// the factors: QR of each, then the singular vectors of the small matrix between them. The scale is
// 1, and A has orthonormal rows. A change of lower rank keeps that rank, but at least 1.
LowRank TruncateRank(const LowRank& change, int rank);

// Does what Truncated does, for a full matrix (out x in).
LowRank TruncateDenseRank(const DenseMatrix& full, int rank);

}  // namespace ruvd::inference
