// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/analytic_gaussian.h"

#include <cmath>
#include <limits>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/log_space.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

constexpr double kTolerance = 1e-12;

double LogDelta(double sigma, double epsilon) {
  const double gain = LogNormalCdf(0.5 / sigma - epsilon * sigma);
  const double loss = epsilon + LogNormalCdf(-0.5 / sigma - epsilon * sigma);
  if (loss >= gain) {  // rounding: both are almost equal
    return -std::numeric_limits<double>::infinity();
  }
  return gain + std::log(-std::expm1(loss - gain));
}

}  // namespace

absl::StatusOr<double> GaussianDelta(double sigma, double epsilon) {
  RETURN_IF_ERROR(CheckSampledGaussian({.sigma = sigma}));
  RETURN_IF_ERROR(CheckEpsilon(epsilon));
  return std::exp(LogDelta(sigma, epsilon));
}

absl::StatusOr<double> GaussianEpsilon(double sigma, double delta) {
  RETURN_IF_ERROR(CheckSampledGaussian({.sigma = sigma}));
  RETURN_IF_ERROR(CheckDelta(delta));
  const double target = std::log(delta);
  if (LogDelta(sigma, 0) <= target) {
    return 0;
  }
  double low = 0;
  double high = 1;
  while (LogDelta(sigma, high) > target) {
    low = high;
    high *= 2;
  }
  while (high - low > kTolerance * high) {
    const double middle = 0.5 * (low + high);
    (LogDelta(sigma, middle) > target ? low : high) = middle;
  }
  return high;
}

absl::StatusOr<double> GaussianSigma(double epsilon, double delta) {
  RETURN_IF_ERROR(CheckEpsilon(epsilon));
  RETURN_IF_ERROR(CheckDelta(delta));
  const double target = std::log(delta);
  double low = limits::kMinNoiseMultiplier;
  double high = limits::kMaxNoiseMultiplier;
  if (LogDelta(high, epsilon) > target) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "no noise multiplier up to {} reaches epsilon {} at delta {}; allow a larger one",
                 high, epsilon, delta);
  }
  while (high - low > kTolerance * high) {
    const double middle = std::sqrt(low * high);
    (LogDelta(middle, epsilon) > target ? low : high) = middle;
  }
  return high;
}

}  // namespace ruvd::privacy::dp
