// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/snr.h"

#include <cmath>
#include <string_view>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

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

absl::StatusOr<SnrRequirements> ComputeSnrRequirements(const SnrParameters& question) {
  ASSIGN_OR_RETURN(const double snr, PredictSnr(question));
  if (!(snr > 0)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a signal of {} stays below any noise; give one above 0", question.signal);
  }
  const double short_of = limits::kMinReleaseSnr / snr;
  const bool each = question.place == NoiseLocation::kEach;
  const double squared = short_of * short_of;
  return SnrRequirements{
      .noise_multiplier = question.noise_multiplier / short_of,
      .contributors = question.contributors * (each ? squared : short_of),
      .dimension = static_cast<size_t>(static_cast<double>(question.dimension) / squared)};
}

absl::Status RequireSnr(const SnrParameters& question) {
  ASSIGN_OR_RETURN(const double snr, PredictSnr(question));
  if (snr >= limits::kMinReleaseSnr) {
    return absl::OkStatus();
  }
  // A sum already carries noise only once, so a clique would not improve it.
  const std::string_view clique =
      question.place == NoiseLocation::kEach ? "sum in a masked clique, " : "";
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kSignalTooWeak,
               "the release's predicted signal is {:.2g} of its noise ({} values, {} contributors, "
               "noise multiplier {:.3g}), below {}; take more contributors together, {}share a "
               "smaller rank (federation.core_rank), or allow a larger epsilon "
               "(privacy.release_epsilon)",
               snr, question.dimension, question.contributors, question.noise_multiplier,
               limits::kMinReleaseSnr, clique);
}

}  // namespace ruvd::privacy::dp
