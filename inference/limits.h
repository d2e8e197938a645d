// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

// Limits of generation, adapters and training. Those of the file format are in gguf/limits.h.
namespace ruvd::limits {

// As promised by ruvd.inference.v1.SamplingOptions.stop.
inline constexpr size_t kMaxStopStrings = 4;
inline constexpr size_t kMaxStopBytes = 64;
// Above this every vocabulary is close to uniform.
inline constexpr float kMaxTemperature = 10.0F;
// Below this, but for zero, scores divided by it leave float32's range; zero means the same.
inline constexpr float kMinTemperature = 1e-4F;
// Above this repeated tokens are impossible in practice.
inline constexpr float kMaxRepetitionPenalty = 10.0F;
// Presence and frequency penalties are subtracted from logits; beyond this they decide alone.
inline constexpr float kMaxCountPenalty = 10.0F;
inline constexpr int kMaxNgram = 16;
// As promised by ruvd.inference.v1.SamplingOptions.logprobs.
inline constexpr int kMaxLogprobs = 20;
// Factors, bounds and scales of samplers; all are of order one.
inline constexpr float kMaxSamplerParameter = 100.0F;

// Denoising steps of a scope: more than one for each token of a long window make no difference but
// to the rules that draw by time, for which this is as good as continuous.
inline constexpr int kMaxSteps = 1 << 14;

// Rows of logits held at once while sampling: 32 rows of a 152k vocabulary are 19 MiB, and larger
// batches make the output product no faster.
inline constexpr size_t kLogitRows = 32;
// Tokens of a prompt evaluated at once: enough for the weights to be read for many rows, few enough
// that the other completions of a batch do not wait long.
inline constexpr size_t kPrefillRows = 256;
// Adapter mixes of one completion whose prefix stays cached: three timestep banks and the mix
// before a retrieval. Each costs one key-value cache.
inline constexpr size_t kMaxPrefixCaches = 4;
// Tokens denoised together behind the approximate cache where no block length is given: Fast-dLLM's
// choice (arXiv 2505.22618).
inline constexpr int kApproximateBlock = 32;

// Adapters in bytes (storage payloads, messages). Rank 64 on all linear layers of a 29M model has
// 8 MiB.
inline constexpr uint64_t kMaxAdapterBytes = 64ULL << 20;
// GGUF adapters may be made for 8B models.
inline constexpr uint64_t kMaxAdapterFileBytes = 1ULL << 30;
// Seven linear layers of 128 blocks, and the two embeddings.
inline constexpr uint32_t kMaxAdapterTargets = 1024;
inline constexpr int kMaxAdapterRank = 256;
// Longest name of an adapter; it appears in metrics, logs and storage keys.
inline constexpr size_t kMaxAdapterNameBytes = 128;
// Rows and columns of one adapted matrix: the largest vocabularies have some 300k rows.
inline constexpr uint32_t kMaxAdapterDimension = 1U << 20;
// Adapters stacked in one forward: a global one, an overlay, the two banks around t, four patterns.
inline constexpr size_t kMaxMixParts = 8;

// Width of embeddings that can be whitened; the matrix of 8192 has 256 MiB.
inline constexpr int kMaxWhiteningWidth = 8192;

// Training runs on one node's learning thread between requests; more of anything is a mistake.
inline constexpr int kMaxTrainingSteps = 10'000;
inline constexpr int kMaxTrainingBatch = 256;
inline constexpr int kMaxHeldOutSamples = 1024;
inline constexpr size_t kMaxTrainingExamples = 4096;
// Rows of all held-out maskings together, prompts included: each evaluation runs them.
inline constexpr size_t kMaxHeldOutRows = 16384;

}  // namespace ruvd::limits
