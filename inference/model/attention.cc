// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/attention.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "inference/kernels/kernel_table.h"
#include "inference/model/limits.h"

namespace ruvd {
namespace {

// Score of a key that a row of the tile must not see while another row does: exp() gives zero.
constexpr float kHidden = -1e30F;

// Rows [first, first + rows) of one head.
struct Tile {
  size_t head = 0;
  size_t first = 0;
  size_t rows = 0;
  VisibleKeys keys;  // the union over the rows, per range
  size_t width = 0;  // number of those keys
};

Tile MakeTile(const AttentionInput& in, size_t head, size_t first) {
  Tile tile{
      .head = head, .first = first, .rows = std::min(limits::kAttentionRows, in.queries() - first)};
  for (size_t r = 0; r < tile.rows; ++r) {
    const VisibleKeys row = KeysVisibleTo(in, in.RowOf(first + r));
    for (size_t s = 0; s < row.size(); ++s) {
      if (row[s].empty()) {
        continue;
      }
      KeyRange& all = tile.keys[s];
      all = all.empty()
                ? row[s]
                : KeyRange{std::min(all.begin, row[s].begin), std::max(all.end, row[s].end)};
    }
  }
  for (const KeyRange& range : tile.keys) {
    tile.width += range.end - range.begin;
  }
  return tile;
}

// scores (tile.rows x tile.width) = q k^T.
void ComputeScores(const AttentionInput& in, const Tile& tile, float* scores) {
  const size_t q_stride = in.heads * in.head_size;
  const size_t kv_stride = in.kv_heads * in.head_size;
  const size_t kv_offset = tile.head / (in.heads / in.kv_heads) * in.head_size;
  size_t offset = 0;
  for (const KeyRange& range : tile.keys) {
    const float* keys = in.keys + range.begin * kv_stride + kv_offset;
    Kernels().multiply_abt({.a = in.q + tile.first * q_stride + tile.head * in.head_size,
                            .a_stride = q_stride,
                            .rows = tile.rows,
                            .b = reinterpret_cast<const uint8_t*>(keys),
                            .b_stride = kv_stride * sizeof(float),
                            .b_type = TensorType::kF32,
                            .outputs = range.end - range.begin,
                            .columns = in.head_size,
                            .y = scores + offset,
                            .y_stride = tile.width});
    offset += range.end - range.begin;
  }
}

// Turns scores into probabilities, zero for the keys that a row must not see.
void Normalise(const AttentionInput& in, const Tile& tile, float* scores) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(in.head_size));
  for (size_t r = 0; r < tile.rows; ++r) {
    float* row = scores + r * tile.width;
    const VisibleKeys seen = KeysVisibleTo(in, in.RowOf(tile.first + r));
    size_t offset = 0;
    for (size_t s = 0; s < seen.size(); ++s) {
      const KeyRange& all = tile.keys[s];
      const size_t width = all.end - all.begin;
      const size_t begin = seen[s].empty() ? width : seen[s].begin - all.begin;
      const size_t end = seen[s].empty() ? width : seen[s].end - all.begin;
      std::fill(row + offset, row + offset + begin, kHidden);
      std::fill(row + offset + end, row + offset + width, kHidden);
      offset += width;
    }
    Kernels().softmax(row, tile.width, scale);
  }
}

void AddValues(const AttentionInput& in, const Tile& tile, const float* scores) {
  const size_t q_stride = in.heads * in.head_size;
  const size_t kv_stride = in.kv_heads * in.head_size;
  const size_t kv_offset = tile.head / (in.heads / in.kv_heads) * in.head_size;
  size_t offset = 0;
  for (const KeyRange& range : tile.keys) {
    if (range.empty()) {
      continue;
    }
    Kernels().multiply_ab({.a = scores + offset,
                           .a_stride = tile.width,
                           .rows = tile.rows,
                           .inner = range.end - range.begin,
                           .b = in.values + range.begin * kv_stride + kv_offset,
                           .b_stride = kv_stride,
                           .columns = in.head_size,
                           .y = in.context + tile.first * q_stride + tile.head * in.head_size,
                           .y_stride = q_stride,
                           .accumulate = offset > 0});
    offset += range.end - range.begin;
  }
}

}  // namespace

VisibleKeys KeysVisibleTo(const AttentionInput& input, size_t row) {
  const auto block = static_cast<size_t>(input.attention.block_length);
  const size_t position = input.prefix + row;
  const size_t all = input.prefix + input.tokens + input.suffix;
  switch (input.attention.kind) {
    case Attention::Kind::kBidirectional:
      return {KeyRange{0, all}, KeyRange{}};
    case Attention::Kind::kCausal: {
      const auto window = static_cast<size_t>(input.attention.window);
      const size_t begin = window > 0 && position >= window ? position + 1 - window : 0;
      return {KeyRange{begin, position + 1}, KeyRange{}};
    }
    case Attention::Kind::kBlockCausal:
      return {KeyRange{0, std::min((position / block + 1) * block, all)}, KeyRange{}};
    case Attention::Kind::kNoisyAndClean:
      break;
  }
  const size_t half = input.tokens / 2;
  if (row < half) {
    const size_t begin = row / block * block;
    return {KeyRange{begin, std::min(begin + block, half)}, KeyRange{half, half + begin}};
  }
  const size_t end = std::min(((row - half) / block + 1) * block, half);
  return {KeyRange{}, KeyRange{half, half + end}};
}

void Attend(ParallelRunner& runner, const AttentionInput& input) {
  const size_t row_blocks = (input.queries() + limits::kAttentionRows - 1) / limits::kAttentionRows;
  const size_t products =
      2 * limits::kAttentionRows * (input.prefix + input.tokens + input.suffix) * input.head_size;
  runner.For(input.heads * row_blocks, limits::kMinTaskProducts / products + 1,
             [&](size_t begin, size_t end) {
               thread_local std::vector<float> scores;
               for (size_t task = begin; task < end; ++task) {
                 const Tile tile =
                     MakeTile(input, task / row_blocks, task % row_blocks * limits::kAttentionRows);
                 scores.resize(std::max(scores.size(), tile.rows * tile.width));
                 ComputeScores(input, tile, scores.data());
                 Normalise(input, tile, scores.data());
                 AddValues(input, tile, scores.data());
               }
             });
}

}  // namespace ruvd
