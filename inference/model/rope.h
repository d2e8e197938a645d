// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <vector>

#include "inference/model/model.h"

namespace ruvd::inference {

// The angle by which each rotated pair turns from one position to the next, slowest last. Pair i of
// d rotated values turns by base^(-2i/d), divided by its entry of rope_divisors (RoFormer, arXiv
// 2104.09864), and with scaling:
// - linear (arXiv 2306.15595): divided by the factor;
// - YaRN (arXiv 2309.00071, "NTK-by-parts"): a blend of divided and undivided, by how often the
//   pair turns within the original context L: undivided where it turns beta_fast times or more,
//   divided where it turns beta_slow times or less. Pair i turns r times at
//   i = d ln(L / (2 pi r)) / (2 ln base); the borders are rounded outwards to whole pairs.
std::vector<double> RopeFrequencies(const ModelConfig& config);

// Factor of the rotated queries' and keys' magnitude: attn_factor, with YaRN times
// 0.1 ln(factor) + 1.
double RopeMagnitude(const ModelConfig& config);

// Cosines and sines of rotary position embedding, times the magnitude. Grows with the positions
// asked for. Not thread-safe while growing.
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
