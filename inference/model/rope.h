// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <vector>

#include "inference/model/model.h"

namespace ruvd::inference {

// Returns the angle by which each rotated pair turns from one position to the next; the slowest
// pair is last. Pair i of d rotated values turns by base^(-2i/d), divided by its entry of
// rope_divisors (RoFormer, arXiv 2104.09864). Scaling changes this:
// - linear (arXiv 2306.15595): all angles are divided by the factor;
// - YaRN (arXiv 2309.00071, "NTK-by-parts"): divided and undivided angles are blended by how often
//   the pair turns within the original context L: undivided if it turns beta_fast times or more,
//   divided if it turns beta_slow times or less. Pair i turns r times at i = d ln(L / (2 pi r)) /
//   (2 ln base). The borders are rounded outwards to whole pairs.
std::vector<double> RopeFrequencies(const ModelConfig& config);

// Returns the factor of the magnitude of rotated queries and keys: attn_factor; with YaRN,
// attn_factor times 0.1 ln(factor) + 1.
double RopeMagnitude(const ModelConfig& config);

// Cosines and sines of the rotary position embedding, multiplied by the magnitude. The table grows
// as needed. Not thread-safe while it grows.
class RopeTable {
 public:
  explicit RopeTable(const ModelConfig& config);
  // Makes positions below `positions` available.
  void Grow(size_t positions);
  // Rotates every head of one row (heads x head_size).
  void Rotate(size_t position, size_t heads, float* row) const;

 private:
  size_t head_size_;
  bool adjacent_;
  std::vector<double> frequencies_;
  double magnitude_;
  std::vector<float> cosines_;  // positions x pairs
  std::vector<float> sines_;
};

}  // namespace ruvd::inference
