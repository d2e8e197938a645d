// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::inference {

// How keys and values are stored: float32, IEEE half, or signed bytes with one float32 scale for
// each token and head.
enum class KvFormat : uint8_t { kF32, kF16, kQ8 };

// Keys and values are stored and processed in tiles of sixteen tokens.
inline constexpr size_t kKvTileTokens = 16;
// Tiles of one attention step: as float32, 64 keys and values of a head of size 64 fill a level-1
// cache.
inline constexpr size_t kKvStepTiles = 4;
inline constexpr size_t kKvStepKeys = kKvTileTokens * kKvStepTiles;

// Returns the floats of a value row, rounded up to whole vectors of every instruction set.
constexpr size_t KvValueStride(size_t head_size) {
  return (head_size + 15) / 16 * 16;
}

// The keys and values of sixteen consecutive tokens for one head; the memory belongs to the cache.
// Keys are transposed, with value i of token t at i * 16 + t, so that a vector holds one component
// of many keys. Value rows are KvValueStride(head_size) apart.
struct KvTile {
  KvFormat format = KvFormat::kF32;
  const void* keys = nullptr;
  const void* values = nullptr;
  // One scale for each token; null if all scales are one. They are applied to scores and weights,
  // so that float32 copies of kQ8 values give the same results as the values themselves.
  const float* key_scales = nullptr;
  const float* value_scales = nullptr;
};

// The keys of a step that a query sees: the union of two half-open ranges, begin <= end <=
// kKvStepKeys. An empty range may lie anywhere.
struct KeysOfStep {
  uint8_t begin[2] = {0, 0};
  uint8_t end[2] = {0, 0};
};

// One step of attention with online softmax (arXiv 1805.02867, as in FlashAttention): adds up to
// kKvStepKeys keys to the running sums of `rows` queries of one head. A query's result depends only
// on its own values, the keys it sees and the borders of the steps. A step in which it sees no key
// does not change its sums.
struct AttentionStep {
  size_t rows = 0;
  size_t head_size = 0;
  const float* queries = nullptr;  // rows x head_size, times log2(e) / sqrt(head_size)
  const KvTile* tiles = nullptr;
  size_t keys = 0;                      // of the tiles, counted from the first tile
  const KeysOfStep* visible = nullptr;  // per row
  float* largest = nullptr;             // per row; initially kNoScore
  float* totals = nullptr;              // per row; initially zero
  float* sums = nullptr;                // rows x KvValueStride(head_size); initially zero
  float* scratch = nullptr;             // AttentionScratchFloats(head_size)
};

// The score of a key that is not seen, and the initial value of the largest score.
inline constexpr float kNoScore = -1e30F;

constexpr size_t AttentionScratchFloats(size_t head_size) {
  return kKvStepKeys * (head_size + KvValueStride(head_size));
}

}  // namespace ruvd::inference
