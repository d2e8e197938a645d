// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Sizes that divide the work of training, and limits of its checkpoints.
namespace ruvd::limits {

// Predictions whose logits are held at once, at most: 256 rows of a vocabulary of 8192 are 8 MiB.
inline constexpr size_t kHeadRows = 256;
// A pass gives the head at most one part in so many of its memory: 256 rows of a vocabulary of
// 152,000 would be 157 MB, and leave the layers nothing of what the background loop has.
inline constexpr uint64_t kHeadShareOf = 3;

// Activations of the background loop's training, beside a node that serves: some 500 tokens of the
// 29M model at a time.
inline constexpr uint64_t kBackgroundTrainingBytes = 32ULL << 20;

// Trained numbers of a run: rank 64 on all linear layers of a 29M model are 5 million, and a state
// holds up to eight words for each.
inline constexpr uint64_t kMaxTrainedParameters = 1ULL << 26;
inline constexpr uint64_t kMaxRunStateBytes = 2ULL << 30;
// Held-out scores of a run: one for each step of the longest.
inline constexpr uint64_t kMaxHeldOutHistory = 1 << 20;

}  // namespace ruvd::limits
