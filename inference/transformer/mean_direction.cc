// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/transformer/mean_direction.h"

#include <cmath>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {

absl::StatusOr<std::vector<float>> MeanDirection(std::span<const float> hidden, size_t width) {
  std::vector<double> sum(width);
  for (size_t i = 0; i < hidden.size(); ++i) {
    sum[i % width] += hidden[i];
  }
  double squares = 0;
  for (const double value : sum) {
    squares += value * value;
  }
  if (!(squares > 0) || !std::isfinite(squares)) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal,
                 "the hidden states of the text have no direction");
  }
  std::vector<float> embedding(width);
  for (size_t i = 0; i < width; ++i) {
    embedding[i] = static_cast<float>(sum[i] / std::sqrt(squares));
  }
  return embedding;
}

}  // namespace ruvd::inference
