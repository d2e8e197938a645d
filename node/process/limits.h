// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>

// What a node decides for its rooms, because no operator could choose a better value.
namespace ruvd::limits {

// Rated completions that start a background round, and the longest time that one of them waits for
// it: a round then teaches several lessons at once, and a correction is in effect after a minute.
inline constexpr int kRoundAfterRatings = 8;
inline constexpr std::chrono::seconds kRoundAfter{60};
// Breadth of the search when a pattern is linked into the index (efConstruction of HNSW). It is
// half of what the index takes by itself, because a node links patterns while it serves.
inline constexpr uint32_t kPatternLinkBreadth = 100;
// Rank of the cores that are the adapters of patterns. All nodes must have the same one. Cores of
// rank 8 and 16 learn less and spoil other text more than those of rank 32 (`learn_pattern`).
inline constexpr int kPatternCoreRank = 32;
// Rank of the frame that a node computes where none is shipped with the model: that of the frames
// of our models, because no experiment gained from a core of a higher rank.
inline constexpr int kWeightFrameRank = 32;
// The most weights of linear layers for which a node computes a frame when it starts: 15 seconds of
// one core, once for each model.
inline constexpr uint64_t kMaxFrameWeights = 1ULL << 26;
// Least quality (0 to 1) that a peer's pattern must claim. The quality is a running mean of the
// rewards of its lessons, so below this most of them earned little.
inline constexpr float kMinPeerPatternQuality = 0.25F;
// The outer step of rounds of noised gradients, that of rounds which are held near general text,
// and the number that Adam adds to its root. On both shipped models, with cores of rank 8 and
// masked sums at epsilon 8, the longer step with the hold gains 14 to 20 % more with samples of 125
// to 512 lessons; general text loses less, but on the 29M model 32 % more with samples of 512
// (bench/experiments/round_arms.py).
inline constexpr double kGradientStep = 1.25e-3;
inline constexpr double kHeldGradientStep = 2.5e-3;
inline constexpr double kGradientEpsilon = 1e-4;
// How often the health of the node's parts is looked at: soon enough for a load balancer, and it
// costs a few locks.
inline constexpr std::chrono::seconds kHealthLook{1};
// How often a node dials its own ports, and how long it waits for each: a served dial takes a
// millisecond, and a machine that is busy for seconds is not deaf. A port whose dials fail at once
// is deaf after a minute, and one that stays silent after two minutes or three; a restart costs the
// running requests, so it comes only after seven failures in a row.
inline constexpr std::chrono::seconds kPortDial{10};
inline constexpr std::chrono::seconds kPortPatience{10};
inline constexpr int kPortFailures = 7;
static_assert((kPortFailures - 1) * kPortDial >= std::chrono::seconds(60));

}  // namespace ruvd::limits
