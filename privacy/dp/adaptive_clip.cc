// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/adaptive_clip.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

constexpr double kMaxRate = 2;
// The noise on the sum of signs is a tenth of the contributors, which is a twentieth on the count.
constexpr uint32_t kContributorsPerUnit = 10;

}  // namespace

AdaptiveClip::AdaptiveClip(const Options& options, DiscreteGaussian noise)
    : options_(options), noise_(std::move(noise)), clip_norm_(options.initial) {}

absl::StatusOr<AdaptiveClip> AdaptiveClip::Create(const Options& options) {
  if (!(options.initial > 0 && std::isfinite(options.initial) && options.quantile >= 0 &&
        options.quantile <= 1 && options.rate > 0 && options.rate <= kMaxRate)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "adaptive clipping cannot use norm {}, quantile {} and rate {}; give a norm above "
                 "0, a quantile from 0 to 1 and a rate above 0 and at most {}",
                 options.initial, options.quantile, options.rate, kMaxRate);
  }
  if (options.contributors < limits::kMinAdaptiveContributors ||
      options.contributors > limits::kMaxAdaptiveContributors) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "adaptive clipping with {} contributors is outside {} to {}; fix the clip norm",
                 options.contributors, limits::kMinAdaptiveContributors,
                 limits::kMaxAdaptiveContributors);
  }
  const uint32_t sigma = (options.contributors + kContributorsPerUnit - 1) / kContributorsPerUnit;
  ASSIGN_OR_RETURN(DiscreteGaussian noise, DiscreteGaussian::Create(sigma));
  return AdaptiveClip(options, std::move(noise));
}

absl::Status AdaptiveClip::EndRound(uint32_t within, uint32_t present, const RandomBytes& random) {
  if (within > present || present > 2 * options_.contributors) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} of {} norms are within the clip norm, but {} contributors are expected; count "
                 "each contributor once",
                 within, present, options_.contributors);
  }
  // A contributor moves the sum of signs by 1 in either direction. The expected number of
  // contributors, which is public, is used in place of the true one.
  std::array<int32_t, 1> noise{};
  noise_.Sample(random, noise);
  const int64_t signs = int64_t{2} * within - present + noise[0];
  const double share =
      0.5 + static_cast<double>(signs) / (2.0 * static_cast<double>(options_.contributors));
  clip_norm_ *= std::exp(-options_.rate * (std::clamp(share, 0.0, 1.0) - options_.quantile));
  return absl::OkStatus();
}

absl::StatusOr<double> SumMultiplier(double multiplier, double count_sigma) {
  RETURN_IF_ERROR(CheckSampledGaussian({.sigma = multiplier}));
  if (!(2 * count_sigma > multiplier)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "noise {} on the count alone costs more than a release at multiplier {}; raise "
                 "the noise on the count above half of it",
                 count_sigma, multiplier);
  }
  return 1 / std::sqrt(1 / (multiplier * multiplier) - 1 / (4 * count_sigma * count_sigma));
}

}  // namespace ruvd::privacy::dp
