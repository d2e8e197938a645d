// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of generation, adapters and training. The limits of the GGUF format are in gguf/limits.h.
namespace ruvd::limits {

// ruvd.inference.v1.SamplingOptions.stop promises these two limits.
inline constexpr size_t kMaxStopStrings = 4;
inline constexpr size_t kMaxStopBytes = 64;
// Above this temperature almost every distribution is close to uniform.
inline constexpr float kMaxTemperature = 10.0F;
// Scores divided by a smaller positive temperature leave the range of float32. Zero is allowed: it
// selects the most likely token.
inline constexpr float kMinTemperature = 1e-4F;
// A larger repetition penalty has no further effect: repeated tokens are already impossible in
// practice.
inline constexpr float kMaxRepetitionPenalty = 10.0F;
// Presence and frequency penalties are subtracted from logits. A larger penalty alone would decide
// which token is chosen.
inline constexpr float kMaxCountPenalty = 10.0F;
inline constexpr int kMaxNgram = 16;
// ruvd.inference.v1.SamplingOptions.logprobs promises this limit.
inline constexpr int kMaxLogprobs = 20;
// Upper bound of the factors, bounds and scales that samplers take. Useful values are of order one.
inline constexpr float kMaxSamplerParameter = 100.0F;

// Denoising steps of one scope. More steps than one for each token of a long window change nothing,
// except for rules that draw by time; for those, this many steps are as good as continuous time.
inline constexpr int kMaxSteps = 1 << 14;

// Rows of logits held at once while sampling. 32 rows of a 152k vocabulary take 19 MiB; larger
// batches do not make the output product faster.
inline constexpr size_t kLogitRows = 32;
// Tokens of a prompt evaluated at once: enough rows to use each weight many times after it is read,
// and few enough that the other completions of a batch do not wait long.
inline constexpr size_t kPrefillRows = 256;
// The largest number of adapter mixes of one completion whose prefix stays cached: three timestep
// banks and the mix before a retrieval. Each costs one key-value cache.
inline constexpr size_t kMaxPrefixCaches = 4;
// Tokens denoised together behind the approximate cache when the request gives no block length.
// Fast-dLLM uses the same number (arXiv 2505.22618).
inline constexpr int kApproximateBlock = 32;

// The largest adapter in storage payloads and messages, in bytes. Rank 64 on all linear layers of a
// 29M model takes 8 MiB.
inline constexpr uint64_t kMaxAdapterBytes = 64ULL << 20;
// The largest GGUF adapter file, in bytes. Such files may belong to models of 8B parameters.
inline constexpr uint64_t kMaxAdapterFileBytes = 1ULL << 30;
// Enough for seven linear layers in each of 128 blocks, and for the two embeddings.
inline constexpr uint32_t kMaxAdapterTargets = 1024;
inline constexpr int kMaxAdapterRank = 256;
// Lessons whose words an adapter counts; counts stay far within 32 bits.
inline constexpr uint32_t kMaxWordLessons = 1U << 30;
// Longest name of an adapter, in bytes. The name appears in metrics, logs and storage keys.
inline constexpr size_t kMaxAdapterNameBytes = 128;
// Largest number of rows or columns of an adapted matrix. The largest vocabularies have about 300k
// rows.
inline constexpr uint32_t kMaxAdapterDimension = 1U << 20;
// Adapters stacked in one forward pass: a global one, an overlay, the two banks around t, four
// patterns.
inline constexpr size_t kMaxMixParts = 8;

// Largest width of embeddings that can be whitened. The matrix for a width of 8192 takes 256 MiB.
inline constexpr int kMaxWhiteningWidth = 8192;

// Training runs on one node's learning thread between requests, so larger numbers than these can
// only be a mistake.
inline constexpr int kMaxTrainingSteps = 10'000;
inline constexpr int kMaxTrainingBatch = 256;
inline constexpr int kMaxHeldOutSamples = 1024;
inline constexpr size_t kMaxTrainingExamples = 4096;
// Rows of all held-out maskings together, prompts included. Each evaluation computes all of them.
inline constexpr size_t kMaxHeldOutRows = 16384;

}  // namespace ruvd::limits
