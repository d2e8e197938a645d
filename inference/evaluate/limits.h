// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of scoring and evaluation.
namespace ruvd::limits {

// Text held in memory for an evaluation. The whole training corpus of the shipped models is 143 MB.
inline constexpr uint64_t kMaxTextBytes = 256ULL << 20;
// Largest decoder window of a Zstandard file: 128 MiB, which every decoder accepts by default
inline constexpr int kMaxZstdWindowLog = 27;
// Mask draws of one score. With more, the Monte-Carlo error is far below any effect of interest.
inline constexpr int kMaxScoreSamples = 1 << 16;
// Crops of one evaluation, and mask draws of all crops together. They are held in memory, a few
// kilobytes each.
inline constexpr int kMaxEvaluateSequences = 1 << 16;
// Rows of logits computed together while scoring: 4 MiB with a vocabulary of 8192
inline constexpr size_t kScoreRows = 128;

}  // namespace ruvd::limits
