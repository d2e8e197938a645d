// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/parallel.h"
#include "inference/cache/kv_cache.h"

namespace ruvd::inference {

// The tokens that a token may attend to.
struct Attention {
  enum class Kind : uint8_t {
    kBidirectional,
    kCausal,
    kBlockCausal,  // its own block and all earlier blocks; blocks count from position 0
    // This is BD3-LM's training view of 2L tokens [x_t ; x_0] (arXiv 2503.09573). The noisy half
    // sees its own noisy block and the clean blocks before it; the clean half is block-causal. The
    // two halves have the same positions.
    kNoisyAndClean,
  };
  Kind kind = Kind::kBidirectional;
  int block_length = 0;  // for the last two kinds
  // kCausal only: a token sees itself and the window - 1 tokens before it. 0 means all tokens
  // before it.
  int window = 0;
};

// A half-open range of key indices.
struct KeyRange {
  size_t begin = 0;
  size_t end = 0;
  bool empty() const { return begin >= end; }
};

// The keys that a query may attend to: the union of two disjoint ranges. Each may be empty.
using VisibleKeys = std::array<KeyRange, 2>;

// One sequence in one layer: context = softmax(q k^T / sqrt(head_size)) v over the visible keys.
struct AttentionInput {
  Attention attention;
  // cached keys before the new tokens, which is the position of the first new token
  size_t prefix = 0;
  size_t tokens = 0;  // new tokens
  size_t suffix = 0;  // cached keys after the new tokens
  // Holds the keys before and after the new tokens; cached keys at the positions of the new tokens
  // are ignored. May be null if prefix and suffix are zero.
  const KvCache* cache = nullptr;
  size_t layer = 0;  // layer of the cache
  size_t heads = 0;
  size_t kv_heads = 0;
  size_t head_size = 0;
  // The new tokens that have a query, in the order of q and context; if absent, all `tokens`.
  std::optional<std::span<const size_t>> rows = std::nullopt;
  const float* q = nullptr;       // rows x (heads * head_size), rotated
  const float* keys = nullptr;    // tokens x (kv_heads * head_size), rotated
  const float* values = nullptr;  // tokens x (kv_heads * head_size)
  float* context = nullptr;       // rows x (heads * head_size)

  size_t queries() const { return rows.has_value() ? rows->size() : tokens; }
  size_t RowOf(size_t query) const { return rows.has_value() ? (*rows)[query] : query; }
};

// Returns the keys that the query of new token `row` sees. For kNoisyAndClean the first range is
// the row's own noisy block and the second lies in the clean half; `tokens` must then be even, and
// prefix and suffix zero.
VisibleKeys KeysVisibleTo(const AttentionInput& input, size_t row);

// Computes the attention of all sequences, in parallel over heads and rows. A row's result depends
// only on its query, the keys it sees and their positions. It is equal bit for bit for any number
// of threads, any other sequences and rows, and whether keys are new or cached: with a cache, new
// keys and values are rounded to its format first.
void Attend(ParallelRunner& runner, std::span<const AttentionInput> inputs);

}  // namespace ruvd::inference
