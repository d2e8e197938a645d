// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/flops.h"

#include <algorithm>
#include <cstddef>

namespace ruvd::bench {
namespace {

size_t CountVisible(const inference::AttentionInput& shape, size_t row) {
  size_t count = 0;
  for (const inference::KeyRange& range : inference::KeysVisibleTo(shape, row)) {
    count += range.empty() ? 0 : range.end - range.begin;
  }
  return count;
}

inference::AttentionInput ShapeOf(const inference::ForwardInput& input) {
  const size_t held = input.cache == nullptr ? 0 : static_cast<size_t>(input.cache->length());
  const size_t first = input.position < 0 ? held : static_cast<size_t>(input.position);
  const size_t end = first + input.tokens.size();
  return {.attention = input.attention,
          .prefix = first,
          .tokens = input.tokens.size(),
          .suffix = std::max(held, end) - end};
}

}  // namespace

double ForwardFlops(const inference::ModelConfig& config, const inference::ForwardInput& input) {
  const inference::AttentionInput shape = ShapeOf(input);
  double pairs = 0;
  for (size_t row = 0; row < shape.tokens; ++row) {
    pairs += static_cast<double>(CountVisible(shape, row));
  }
  double wanted = static_cast<double>(shape.tokens);
  double wanted_pairs = pairs;
  if (input.rows) {
    wanted = static_cast<double>(input.rows->size());
    wanted_pairs = 0;
    for (const int row : *input.rows) {
      wanted_pairs += static_cast<double>(CountVisible(shape, static_cast<size_t>(row)));
    }
  }
  const double q = static_cast<double>(config.heads) * config.head_size;
  const double kv = static_cast<double>(config.kv_heads) * config.head_size;
  const double for_keys = 2.0 * config.width * kv;
  const double for_rows = 2.0 * config.width * q + 3.0 * config.width * config.ffn;
  const double for_pairs = 2 * q;  // a score and a weighted value
  const double all_layers =
      (config.layers - 1) * (static_cast<double>(shape.tokens) * for_rows + pairs * for_pairs) +
      config.layers * static_cast<double>(shape.tokens) * for_keys;
  return 2 * (all_layers + wanted * for_rows + wanted_pairs * for_pairs);
}

double LogitsFlops(const inference::ModelConfig& config, double rows) {
  return 2.0 * rows * config.width * config.vocabulary;
}

}  // namespace ruvd::bench
