// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "node/limits.h"

// Limits that only deep rounds have, for what they remember and for the general text.
namespace ruvd::limits {

// Largest sealed EWC++ memory of a published version. Anchor and Fisher of rank 32 on all linear
// layers of the 29M model take 20 MiB.
inline constexpr uint64_t kMaxDeepMemoryBytes = 1ULL << 30;
// Responses of users that a memory may name, enough for several rounds: each round hands all of its
// lessons on to the next one's memory.
inline constexpr size_t kMaxMemoryResponses = 4 * kMaxDeepLessons;
// Lessons that judge a round. Each is scored under four maskings, with the served adapters and with
// the new one. Lessons that decide when training stops judge nothing.
inline constexpr size_t kMaxDeepHeldBack = 128;
inline constexpr size_t kMinSelection = 8;
inline constexpr size_t kMaxSelection = 32;
// General text of the operator: about a million tokens, of which a round of 10,000 steps reads a
// part.
inline constexpr uint64_t kMaxGeneralTextBytes = 4ULL << 20;
inline constexpr size_t kGeneralPassageTokens = 256;
inline constexpr size_t kMinPassageTokens = 16;
inline constexpr size_t kMinGeneralPassages = 4;
inline constexpr size_t kMaxReplayedPassages = 8192;
// One in this many passages is used for measuring, but only as many as a gate can score in seconds.
inline constexpr size_t kMeasuredOneOf = 8;
inline constexpr size_t kMaxMeasuredPassages = 8;

}  // namespace ruvd::limits
