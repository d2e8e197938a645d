// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace ruvd::limits {

// Patterns of peers that wait for their trial, together and of one peer. A trial takes seconds of
// idle time, so these are minutes of work; what comes above waits at its sender.
inline constexpr size_t kMaxPatternTrials = 128;
inline constexpr size_t kMaxPatternTrialsPerOrigin = 32;
// Patterns of one peer that may always wait for their trial, however many of others wait. Otherwise
// a few peers could fill kMaxPatternTrials and keep all others out. The number of members bounds
// the sum, and each member takes its turn (NextTrial).
inline constexpr size_t kSurePatternTrials = 4;
// Patterns of one peer that were left for later because too many waited; the peer offers no more.
inline constexpr size_t kMaxDeferredPatterns = 256;
// Own lessons near a pattern that its trial scores, newest first. With kTrialDraws they are at most
// 256 forward passes.
inline constexpr size_t kMaxTrialLessons = 16;
// A trial that could not be made, because the store or the model failed, is tried again after this
// time.
inline constexpr std::chrono::minutes kTrialRetry{1};
// Rated completions of one pattern that count, the newest. A pattern that users dislike is dropped
// after far fewer.
inline constexpr size_t kMaxRatedUses = 256;

// Shares of masked sums that may come to nothing in kConductRounds before a node gives no more. One
// member alone must not reach it, because it would stop all honest nodes at one time. In a cluster
// with one group, a member that keeps its share whenever it is not left out does so in rounds 0, 3,
// 8, 17 and 34: it costs five in that time. One that spoils sums of large groups only costs four.
inline constexpr size_t kMaxLostShares = 8;

// Lines of the log about closed links, and about refused messages, of each error reason in each
// period. A stranger can cause as many of either as it likes; the status counts refused messages.
inline constexpr uint64_t kLinkLogLines = 20;
inline constexpr std::chrono::minutes kLinkLogPeriod{1};

// Experts of peers that serve. Each takes the memory of an adapter of all linear layers.
inline constexpr size_t kMaxServingExperts = 16;
// How often an expert on trial looks for new texts that could judge it, at first and at last
inline constexpr int64_t kExpertLookMillis = 30'000;
inline constexpr int64_t kLongestExpertLookMillis = 300'000;
// The newest prompts that may judge an expert, and how many tokens of each: a shorter one has too
// few words, and of a longer one the end is enough.
inline constexpr size_t kMaxTrialPrompts = 256;
inline constexpr size_t kMinTrialTextTokens = 16;
inline constexpr size_t kMaxTrialTextTokens = 128;

}  // namespace ruvd::limits
