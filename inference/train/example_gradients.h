// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inference/train/network_pass.h"

namespace ruvd::inference::train {

// The sum over sequences of their gradients, each scaled down to a Euclidean norm of at most
// `limit` (the clip norm). DP-SGD adds noise to this sum (arXiv 1607.00133); no noise is added
// here. A gradient that is not finite counts as zero, because one sequence must not change the sum
// by more than `limit`.
struct ClippedSum {
  std::vector<float> gradient;
  std::vector<double> norms;  // norm of each sequence's gradient before clipping; may not be finite
  size_t not_finite = 0;      // number of sequences that were left out because of that
  std::vector<double> losses;  // loss of each sequence
};

// Computes the sum; each sequence is one example. It holds as many gradients at a time as fit in
// `memory_bytes`, at least one; the number affects the result only by rounding.
ClippedSum SumClippedGradients(NetworkPass<float>& pass, ChangeSet<float>& changes,
                               std::span<const TrainingSequence> batch, double limit,
                               uint64_t memory_bytes);

}  // namespace ruvd::inference::train
