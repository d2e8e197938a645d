// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

// Limits of the instant loop.
namespace ruvd::limits {

// Positions that a session remembers. 4096 of width 512 have 5 MiB; a scan of them takes some 20 us
// for each row of a batch.
inline constexpr size_t kMaxInstantPositions = 4096;
// Positions that it holds of older requests beyond that, in case later ones are taken back: those
// of a few completions, and a quarter more memory at most.
inline constexpr size_t kMaxInstantReserve = 1024;
// Neighbours that vote. More change nothing: their weights fall exponentially with the distance.
inline constexpr int kMaxInstantNeighbours = 256;
// Positions that one request may teach: the longest context.
inline constexpr size_t kMaxStepPositions = 4096;
// Cells of the table that aligns a completion with its edited form: 4 MiB. What is longer is
// aligned by its common beginning and end only.
inline constexpr size_t kMaxAlignmentCells = 1UL << 20;

}  // namespace ruvd::limits
