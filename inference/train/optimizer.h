// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ruvd::train {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.99;  // short runs: a longer memory would never leave its bias
  double epsilon = 1e-8;
  double weight_decay = 0;
};

// AdamW with bias correction and decoupled decay (arXiv 1711.05101). State in double.
class AdamW {
 public:
  AdamW(size_t parameters, const AdamWOptions& options);
  void Step(std::span<const float> gradient, double learning_rate, std::span<float> parameters);

 private:
  AdamWOptions options_;
  std::vector<double> mean_;
  std::vector<double> square_;
  int step_ = 0;
};

// Scales the gradient to at most this Euclidean norm; returns the norm it had.
double ClipNorm(std::span<float> gradient, double limit);

// Share of the full learning rate at step 0 <= step < steps: linear warm-up over the first tenth,
// then linear decay to a tenth.
double LearningRateShare(int step, int steps);

}  // namespace ruvd::train
