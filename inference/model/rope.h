// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <vector>

namespace ruvd {

// Cosines and sines of rotary position embedding (RoFormer, arXiv 2104.09864): pair i of position p
// turns by p * base^(-2i / head_size). Grows with the positions asked for. Not thread-safe while
// growing.
class RopeTable {
 public:
  RopeTable(size_t head_size, double base);
  // Makes positions below `positions` available.
  void Grow(size_t positions);
  // Rotates every head of one row (heads x head_size), pairs half a head apart (NEOX layout).
  void Rotate(size_t position, size_t heads, float* row) const;

 private:
  size_t half_;
  std::vector<double> frequencies_;
  std::vector<float> cosines_;  // positions x half
  std::vector<float> sines_;
};

}  // namespace ruvd
