// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>

#include "base/parallel.h"
#include "inference/model/transformer.h"

namespace ruvd {

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
