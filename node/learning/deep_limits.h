// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "node/limits.h"

// Limits of deep rounds alone: of what they remember and of the general text they are given.
namespace ruvd::limits {

// What EWC++ remembers of a published version, sealed: anchor and Fisher of rank 8 on all linear
// layers of the 29M model have 10 MiB.
inline constexpr uint64_t kMaxDeepMemoryBytes = 1ULL << 30;
// Responses of users that a memory may name: those of some rounds, each of which has all of its
// lessons in the next one's memory.
inline constexpr size_t kMaxMemoryResponses = 4 * kMaxDeepLessons;
// Lessons that judge a round: each is scored by four maskings with what was served and with what is
// new. Some of them say when training stops, and then judge nothing.
inline constexpr size_t kMaxDeepHeldBack = 128;
inline constexpr size_t kLeastSelection = 8;
inline constexpr size_t kMaxSelection = 32;
// General text of the operator: a million tokens, of which a round of 10,000 steps reads some.
inline constexpr uint64_t kMaxGeneralTextBytes = 4ULL << 20;
inline constexpr size_t kGeneralPassageTokens = 256;
inline constexpr size_t kLeastPassageTokens = 16;
inline constexpr size_t kLeastGeneralPassages = 4;
inline constexpr size_t kMaxReplayedPassages = 8192;
// Passages that measure: one of so many, and no more than a gate can score in seconds.
inline constexpr size_t kMeasuredOneOf = 8;
inline constexpr size_t kMaxMeasuredPassages = 8;

}  // namespace ruvd::limits
