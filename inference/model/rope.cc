// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/model/rope.h"

#include <cmath>

#include "inference/kernels/kernel_table.h"

namespace ruvd {

RopeTable::RopeTable(size_t head_size, double base) : half_(head_size / 2) {
  for (size_t i = 0; i < half_; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_size);
    frequencies_.push_back(std::pow(base, exponent));
  }
}

void RopeTable::Grow(size_t positions) {
  for (size_t p = cosines_.size() / half_; p < positions; ++p) {
    for (const double frequency : frequencies_) {
      const double angle = static_cast<double>(p) * frequency;
      cosines_.push_back(static_cast<float>(std::cos(angle)));
      sines_.push_back(static_cast<float>(std::sin(angle)));
    }
  }
}

void RopeTable::Rotate(size_t position, size_t heads, float* row) const {
  for (size_t h = 0; h < heads; ++h) {
    Kernels().rotate(row + h * 2 * half_, cosines_.data() + position * half_,
                     sines_.data() + position * half_, half_);
  }
}

}  // namespace ruvd
