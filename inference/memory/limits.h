// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of the token memory.
namespace ruvd::limits {

// The largest file NAME.memory.gguf, in bytes. That of a model of width 8192 with a vocabulary of
// 256k takes 3 MiB.
inline constexpr uint64_t kMaxMemoryParameterBytes = 64ULL << 20;
// A key has at most so many values. More than 128 gained 0.004 nats/token in a pilot, 64 lost
// 0.011.
inline constexpr int kMaxMemoryKey = 512;
// Tokens of one run, context included: the longest context. Longer lessons are cut.
inline constexpr size_t kMaxMemoryRun = 4096;
// Places of one segment. Segments of about equal size are merged up to this size.
inline constexpr size_t kMaxMemorySegment = 1UL << 16;
// Rows that one thread reads at a time: a multiple of 16, as the integer kernels want it.
inline constexpr size_t kMemoryScanRows = 16;
// Places whose scores are computed together. The scores of 16 rows take 128 KiB, which stays in the
// second-level cache.
inline constexpr size_t kMemoryTilePlaces = 2048;
// So many of the best entries vote at a position. In a pilot, 512 lost nothing against all of
// 100,000 entries, and 32 lost 0.028 nats/token.
inline constexpr size_t kMaxMemoryVotes = 1024;

}  // namespace ruvd::limits
