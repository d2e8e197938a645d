// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Sizes that divide the work of training, and limits of its checkpoints.
namespace ruvd::limits {

// Most predictions whose logits are held at a time: 256 rows of a vocabulary of 8192 take 8 MiB.
inline constexpr size_t kHeadRows = 256;
// The head gets at most one part in this many of a pass's memory. 256 rows of a vocabulary of
// 152,000 would take 157 MB and leave nothing of the background loop's memory for the layers.
inline constexpr uint64_t kHeadShareOf = 3;

// Memory for activations while the background loop trains beside a serving node: about 500 tokens
// of the 29M model at a time
inline constexpr uint64_t kBackgroundTrainingBytes = 32ULL << 20;

// Trained parameters of a run. Rank 64 on all linear layers of a 29M model gives 5 million; a state
// holds up to eight words for each parameter.
inline constexpr uint64_t kMaxTrainedParameters = 1ULL << 26;
inline constexpr uint64_t kMaxRunStateBytes = 2ULL << 30;
// Held-out scores of a run: one for each step of the longest run
inline constexpr uint64_t kMaxHeldOutHistory = 1 << 20;

}  // namespace ruvd::limits
