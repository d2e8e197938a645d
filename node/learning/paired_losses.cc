// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/paired_losses.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/status.h"

namespace ruvd::learning {

PairedGain GainOf(std::span<const double> before, std::span<const double> after) {
  RUVD_CHECK(before.size() == after.size());
  std::vector<double> gains(before.size());
  std::ranges::transform(before, after, gains.begin(), std::minus());
  PairedGain gain{.mean = MeanLoss(gains)};
  double squares = 0;
  for (const double own : gains) {
    squares += (own - gain.mean) * (own - gain.mean);
  }
  const auto n = static_cast<double>(gains.size());
  gain.standard_error = gains.size() < 2 ? 0 : std::sqrt(squares / (n - 1) / n);
  return gain;
}

double MeanLoss(std::span<const double> losses) {
  double sum = 0;
  for (const double loss : losses) {
    sum += loss;
  }
  return losses.empty() ? 0 : sum / static_cast<double>(losses.size());
}

}  // namespace ruvd::learning
