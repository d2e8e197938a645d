// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/uncertainty.h"

#include <algorithm>
#include <cmath>

namespace ruvd::inference {

StepUncertainty UncertaintyOf(std::span<const PositionUncertainty> positions, float t) {
  StepUncertainty step{.t = t, .positions = static_cast<int>(positions.size())};
  if (positions.empty()) {
    return step;
  }
  const auto count = static_cast<double>(positions.size());
  double entropy = 0;
  double margin = 0;
  double confidence = 0;
  double movement = 0;
  int moved = 0;
  for (const PositionUncertainty& position : positions) {
    entropy += position.entropy;
    margin += position.margin;
    confidence += position.confidence;
    if (std::isfinite(position.movement)) {
      movement += position.movement;
      ++moved;
    }
  }
  double squares = 0;
  for (const PositionUncertainty& position : positions) {
    const double distance = position.confidence - confidence / count;
    squares += distance * distance;
  }
  step.entropy = static_cast<float>(entropy / count);
  step.margin = static_cast<float>(margin / count);
  step.confidence_variance = static_cast<float>(squares / count);
  step.movement = moved == 0 ? 0 : static_cast<float>(movement / moved);
  return step;
}

size_t TimestepStatistics::IndexOf(float t) {
  const float scaled = std::clamp(t, 0.0F, 1.0F) * kBins;  // NaN stays NaN and goes to bin 0 below
  return scaled > 0 ? std::min(static_cast<size_t>(scaled), static_cast<size_t>(kBins - 1)) : 0;
}

void TimestepStatistics::Add(float t, float value) {
  if (!std::isfinite(value)) {
    return;
  }
  Bin& bin = bins_[IndexOf(t)];
  bin.weight = decay_ * bin.weight + 1;
  const double distance = value - bin.mean;
  bin.mean += distance / bin.weight;
  bin.squares = decay_ * bin.squares + distance * (value - bin.mean);
  ++bin.count;
}

double TimestepStatistics::Variance(float t) const {
  const Bin& bin = BinOf(t);
  return bin.weight > 0 ? bin.squares / bin.weight : 0;
}

float TimestepStatistics::ZScore(float t, float value) const {
  const double variance = Variance(t);
  if (Count(t) < kMinValues || !(variance > 0)) {
    return 0;
  }
  return static_cast<float>((value - Mean(t)) / std::sqrt(variance));
}

}  // namespace ruvd::inference
