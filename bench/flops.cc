// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/flops.h"

namespace ruvd::bench {
namespace {

// Queries first, first + 1, ... each see the prefix and what is before them.
double CausalPairs(double first, double count) {
  return count * first + count * (count + 1) / 2;
}

}  // namespace

ForwardSize SizeOf(size_t tokens, size_t prefix, size_t rows, bool causal) {
  const auto n = static_cast<double>(tokens);
  const auto before = static_cast<double>(prefix);
  const auto wanted = static_cast<double>(rows);
  ForwardSize size{.tokens = n, .rows = wanted};
  size.pairs = causal ? CausalPairs(before, n) : n * (before + n);
  size.last_layer_pairs = causal ? CausalPairs(before + n - wanted, wanted) : wanted * (before + n);
  return size;
}

double ForwardFlops(const ModelConfig& config, const ForwardSize& size) {
  const double width = config.width;
  const double q = static_cast<double>(config.heads) * config.head_size;
  const double kv = static_cast<double>(config.kv_heads) * config.head_size;
  const double for_keys = 2 * width * kv;
  const double for_rows = 2 * width * q + 3 * width * config.ffn;
  const double per_pair = 2 * q;  // the score and the weighted value
  const double full_layers = config.layers - 1;
  const double multiply_adds =
      full_layers * (size.tokens * (for_keys + for_rows) + size.pairs * per_pair) +
      size.tokens * for_keys + size.rows * for_rows + size.last_layer_pairs * per_pair;
  return 2 * multiply_adds;
}

double LogitsFlops(const ModelConfig& config, double rows) {
  return 2 * rows * config.width * config.vocabulary;
}

}  // namespace ruvd::bench
