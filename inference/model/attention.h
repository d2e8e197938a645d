// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace ruvd {

// Which tokens a token may look at.
struct Attention {
  enum class Kind : uint8_t {
    kBidirectional,
    kCausal,
    kBlockCausal,  // its own block and all earlier ones; blocks count from position 0
    // BD3-LM's training view of 2L tokens [x_t ; x_0] (arXiv 2503.09573): the noisy half sees its
    // own noisy block and the clean blocks before it, the clean half is block-causal. Positions
    // repeat.
    kNoisyAndClean,
  };
  Kind kind = Kind::kBidirectional;
  int block_length = 0;  // for the last two
  // kCausal only: a token sees itself and the window - 1 tokens before it. 0: all before it.
  int window = 0;
};

// A half-open range of key indices.
struct KeyRange {
  size_t begin = 0;
  size_t end = 0;
  bool empty() const { return begin >= end; }
};

// The keys a query may look at: the union of two disjoint ranges, either of them perhaps empty.
using VisibleKeys = std::array<KeyRange, 2>;

// What the query of token `row` sees, of `prefix` cached keys followed by those of `tokens` new
// tokens. For kNoisyAndClean the first range is the row's own noisy block, the second lies in the
// clean half; `tokens` is even and prefix zero then.
VisibleKeys KeysVisibleTo(const Attention& attention, size_t prefix, size_t tokens, size_t row);

// One layer's attention: context = softmax(q k^T / sqrt(head_size)) v over the visible keys.
struct AttentionInput {
  Attention attention;
  size_t prefix = 0;
  size_t tokens = 0;
  size_t heads = 0;
  size_t kv_heads = 0;
  size_t head_size = 0;
  const float* q = nullptr;       // tokens x (heads * head_size), rotated
  const float* keys = nullptr;    // (prefix + tokens) x (kv_heads * head_size), rotated
  const float* values = nullptr;  // the same shape
  float* context = nullptr;       // tokens x (heads * head_size)
};

// Parallel over heads and rows; equal bit for bit whatever the runner's threads.
void Attend(ParallelRunner& runner, const AttentionInput& input);

}  // namespace ruvd
