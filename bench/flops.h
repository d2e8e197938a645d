// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "inference/transformer/transformer.h"

namespace ruvd::bench {

// What a forward pass has to compute: two operations for every multiply-add of the weight products
// and of attention over the keys each token may see, in the last layer for the wanted rows only.
// Norms, rotations and activations are left out. Reads the cache's length, so call it before the
// forward.
double ForwardFlops(const inference::ModelConfig& config, const inference::ForwardInput& input);

// Returns the operations of the output matrix for this many rows.
double LogitsFlops(const inference::ModelConfig& config, double rows);

}  // namespace ruvd::bench
