// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

#include "inference/model/model.h"

namespace ruvd::bench {

// What a forward pass has to compute.
struct ForwardSize {
  double tokens = 0;
  // Pairs of a query and a key it sees, summed over the tokens whose context is computed in every
  // layer but the last, and over the wanted rows in the last.
  double pairs = 0;
  double last_layer_pairs = 0;
  double rows = 0;  // whose last layer is wanted
};

// `tokens` tokens behind `prefix` cached ones; `rows` of them wanted, the last ones if causal.
ForwardSize SizeOf(size_t tokens, size_t prefix, size_t rows, bool causal);

// Two operations for every multiply-add of the weight products and of attention; norms, rotations
// and activations are left out, as everybody does.
double ForwardFlops(const ModelConfig& config, const ForwardSize& size);

// The output matrix for this many rows.
double LogitsFlops(const ModelConfig& config, double rows);

}  // namespace ruvd::bench
