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
// `limit`: what DP-SGD adds noise to (arXiv 1607.00133). No noise is added here. A gradient that is
// not finite counts as zero: one sequence must not change the sum by more than `limit`.
struct ClippedSum {
  std::vector<float> gradient;
  std::vector<double> norms;   // of each sequence's gradient before clipping; may not be finite
  size_t not_finite = 0;       // sequences that were left out for that
  std::vector<double> losses;  // of each sequence
};

// A sequence is one example. As many gradients as fit `memory_bytes` are held at a time, at least
// one; this does not change the result but by rounding.
ClippedSum SumClippedGradients(NetworkPass<float>& pass, ChangeSet<float>& changes,
                               std::span<const TrainingSequence> batch, double limit,
                               uint64_t memory_bytes);

}  // namespace ruvd::inference::train
