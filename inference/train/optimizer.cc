// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace ruvd::train {

AdamW::AdamW(size_t parameters, const AdamWOptions& options)
    : options_(options), mean_(parameters), square_(parameters) {}

void AdamW::Step(std::span<const float> gradient, double learning_rate,
                 std::span<float> parameters) {
  RUVD_CHECK(gradient.size() == mean_.size() && parameters.size() == mean_.size());
  ++step_;
  const double bias1 = 1 - std::pow(options_.beta1, step_);
  const double bias2 = 1 - std::pow(options_.beta2, step_);
  for (size_t i = 0; i < mean_.size(); ++i) {
    const double g = gradient[i];
    mean_[i] += (1 - options_.beta1) * (g - mean_[i]);
    square_[i] += (1 - options_.beta2) * (g * g - square_[i]);
    const double update = mean_[i] / bias1 / (std::sqrt(square_[i] / bias2) + options_.epsilon) +
                          options_.weight_decay * parameters[i];
    parameters[i] -= static_cast<float>(learning_rate * update);
  }
}

double ClipNorm(std::span<float> gradient, double limit) {
  double squares = 0;
  for (const float g : gradient) {
    squares += static_cast<double>(g) * g;
  }
  const double norm = std::sqrt(squares);
  if (norm > limit) {
    const auto factor = static_cast<float>(limit / norm);
    for (float& g : gradient) {
      g *= factor;
    }
  }
  return norm;
}

double LearningRateShare(int step, int steps) {
  const int warm_up = std::max(1, steps / 10);
  if (step < warm_up) {
    return static_cast<double>(step + 1) / warm_up;
  }
  const double progress = static_cast<double>(step - warm_up) / std::max(1, steps - warm_up);
  return 1.0 - 0.9 * progress;
}

}  // namespace ruvd::train
