// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

// Limits of the instant loop.
namespace ruvd::limits {

// Positions that a session remembers. 4096 positions of width 512 take 5 MiB; a scan of them takes
// about 20 us for each row of a batch.
inline constexpr size_t kMaxInstantPositions = 4096;
// Positions of older requests that a session holds beyond that, in case later requests are taken
// back: enough for a few completions, and at most a quarter more memory.
inline constexpr size_t kMaxInstantReserve = 1024;
// Neighbours that vote. More would change nothing, because their weights fall exponentially with
// the distance.
inline constexpr int kMaxInstantNeighbours = 256;
// Positions that one request may teach: the longest context
inline constexpr size_t kMaxStepPositions = 4096;
// Cells of the table that aligns a completion with its edited form: 4 MiB. Longer texts are aligned
// by their common beginning and end only.
inline constexpr size_t kMaxAlignmentCells = 1UL << 20;

}  // namespace ruvd::limits
