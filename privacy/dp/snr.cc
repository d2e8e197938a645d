// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/snr.h"

#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {

absl::StatusOr<double> PredictSnr(const SnrParameters& question) {
  RETURN_IF_ERROR(CheckSampledGaussian({.sigma = question.noise_multiplier}));
  if (question.dimension == 0 || question.dimension > limits::kMaxUpdateValues ||
      !(question.contributors > 0 && std::isfinite(question.contributors)) ||
      !(question.releases > 0 && std::isfinite(question.releases)) ||
      !(question.signal >= 0 && question.signal <= 1)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "cannot predict a signal of {} of {} contributors in {} values over {} releases; "
                 "give a signal from 0 to 1, 1 to {} values and counts above 0",
                 question.signal, question.contributors, question.dimension, question.releases,
                 limits::kMaxUpdateValues);
  }
  const double gain = question.place == NoiseLocation::kSum ? question.contributors
                                                            : std::sqrt(question.contributors);
  return question.signal * gain * std::sqrt(question.releases) /
         (question.noise_multiplier * std::sqrt(static_cast<double>(question.dimension)));
}

}  // namespace ruvd::privacy::dp
