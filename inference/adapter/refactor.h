// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "inference/adapter/adapter.h"
#include "inference/numerics/dense.h"

namespace ruvd::inference {

// Changes of one matrix between their forms.

struct WeightedChange {
  const LowRank* change = nullptr;
  double weight = 1;
};

// The weighted sum of changes of one shape, exactly: the A factors below each other, the scaled and
// weighted B factors side by side; the ranks add. Scale 1.
LowRank Stacked(std::span<const WeightedChange> changes);

// scale * B A as a matrix (out x in).
DenseMatrix FullChange(const LowRank& change);

// The best change of at most `rank` (1 or more), from the factors: QR of each, then the singular
// vectors of the small middle. Scale 1, A with orthonormal rows; a change of lower rank gets that
// one, at least 1.
LowRank Truncated(const LowRank& change, int rank);

// The same of a full matrix (out x in).
LowRank LeadingChange(const DenseMatrix& full, int rank);

}  // namespace ruvd::inference
