// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::inference {

// How keys and values are kept: float32, IEEE half, or signed bytes with one float32 scale for each
// token and head.
enum class KvFormat : uint8_t { kF32, kF16, kQ8 };

// Keys and values are stored and computed with sixteen tokens at a time.
inline constexpr size_t kKvTileTokens = 16;
// Tiles of one attention step: 64 keys and values of a head of 64 fill an L1 cache as float32.
inline constexpr size_t kKvStepTiles = 4;
inline constexpr size_t kKvStepKeys = kKvTileTokens * kKvStepTiles;

// Floats of a value row: whole vectors of every instruction set.
constexpr size_t KvValueStride(size_t head_size) {
  return (head_size + 15) / 16 * 16;
}

// Borrowed keys and values of sixteen consecutive tokens for one head. Keys are transposed, value i
// of token t at i * 16 + t, so that a vector holds one component of many keys; value rows are
// KvValueStride(head_size) apart.
struct KvTile {
  KvFormat format = KvFormat::kF32;
  const void* keys = nullptr;
  const void* values = nullptr;
  // Per token; null where all are one. Applied to scores and weights, so that float32 copies of
  // kQ8 values give the same results as the values themselves.
  const float* key_scales = nullptr;
  const float* value_scales = nullptr;
};

// Which keys of a step a query sees: the union of two half-open ranges, begin <= end <=
// kKvStepKeys. An empty one may lie anywhere.
struct KeysOfStep {
  uint8_t begin[2] = {0, 0};
  uint8_t end[2] = {0, 0};
};

// One step of attention with online softmax (arXiv 1805.02867, as in FlashAttention): adds up to
// kKvStepKeys keys to the running sums of `rows` queries of one head. A query's result depends on
// its own values, the keys it sees and the borders of the steps only; a step of which it sees
// nothing does not change its sums.
struct AttentionStep {
  size_t rows = 0;
  size_t head_size = 0;
  const float* queries = nullptr;  // rows x head_size, times log2(e) / sqrt(head_size)
  const KvTile* tiles = nullptr;
  size_t keys = 0;                      // of the tiles, from the first on
  const KeysOfStep* visible = nullptr;  // per row
  float* largest = nullptr;             // per row; kNoScore at first
  float* totals = nullptr;              // per row; zero at first
  float* sums = nullptr;                // rows x KvValueStride(head_size); zero at first
  float* scratch = nullptr;             // AttentionScratchFloats(head_size)
};

// Score of a key that is not seen, and the largest score before the first key.
inline constexpr float kNoScore = -1e30F;

constexpr size_t AttentionScratchFloats(size_t head_size) {
  return kKvStepKeys * (head_size + KvValueStride(head_size));
}

}  // namespace ruvd::inference
