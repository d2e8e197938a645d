// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/masks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ruvd::train {

MaskStream::MaskStream(std::span<const TrainingExample> examples, uint64_t seed)
    : examples_(examples), random_(seed), order_(examples.size()) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  next_ = order_.size();
}

size_t MaskStream::NextExample() {
  if (next_ == order_.size()) {
    random_.Shuffle(std::span(order_));
    next_ = 0;
  }
  return order_[next_++];
}

std::vector<MaskDraw> MaskStream::Draw(int count) {
  const double offset = random_.Uniform();
  std::vector<MaskDraw> draws(static_cast<size_t>(count));
  for (size_t i = 0; i < draws.size(); ++i) {
    MaskDraw& draw = draws[i];
    draw.example = NextExample();
    const size_t length = examples_[draw.example].completion.size();
    const double u = (static_cast<double>(i) + offset) / count;
    const auto k = std::min(length, static_cast<size_t>(u * static_cast<double>(length)) + 1);
    std::vector<int> all(length);
    std::iota(all.begin(), all.end(), 0);
    for (size_t j = 0; j < k; ++j) {  // the first k of a Fisher-Yates shuffle
      std::swap(all[j], all[j + random_.Below(length - j)]);
    }
    draw.positions.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(k));
    std::sort(draw.positions.begin(), draw.positions.end());
  }
  return draws;
}

double MaskWeight(size_t masked, size_t length, double clamp) {
  const double inverse_t = static_cast<double>(length) / static_cast<double>(masked);
  return std::min(inverse_t, clamp) / static_cast<double>(length);
}

}  // namespace ruvd::train
