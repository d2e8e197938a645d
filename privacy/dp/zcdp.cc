// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/zcdp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"

namespace ruvd::privacy::dp {
namespace {

// The search covers the orders between 1 + e^-25 and 1 + e^25.
constexpr double kLogOrderRange = 25;
constexpr int kOrderSteps = 200;
constexpr int kHalvings = 120;

// `excess` is the order minus 1, which keeps its digits for orders near 1.
double EpsilonAt(double rho, double delta, double excess) {
  const double order = 1 + excess;
  return rho * order - std::log1p(1 / excess) - (std::log(delta) + std::log1p(excess)) / excess;
}

absl::Status CheckRho(double rho) {
  if (!(rho >= 0 && std::isfinite(rho))) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "rho {} is not a finite number of at least 0; give 1 / (2 sigma^2) of each release", rho);
  }
  return absl::OkStatus();
}

// Returns the minimum by golden-section search between two logarithms of the excess that bracket
// it.
double Refine(double rho, double delta, double low, double high) {
  const double ratio = 1 / std::numbers::phi;
  for (int i = 0; i < kHalvings; ++i) {
    const double a = high - ratio * (high - low);
    const double b = low + ratio * (high - low);
    if (EpsilonAt(rho, delta, std::exp(a)) < EpsilonAt(rho, delta, std::exp(b))) {
      high = b;
    } else {
      low = a;
    }
  }
  return EpsilonAt(rho, delta, std::exp(0.5 * (low + high)));
}

}  // namespace

double GaussianRho(double sigma) {
  return 1 / (2 * sigma * sigma);
}

absl::StatusOr<double> EpsilonOfRho(double rho, double delta) {
  RETURN_IF_ERROR(CheckRho(rho));
  RETURN_IF_ERROR(CheckDelta(delta));
  if (rho == 0) {
    return 0;
  }
  const double step = 2 * kLogOrderRange / kOrderSteps;
  int best = 0;
  double least = EpsilonAt(rho, delta, std::exp(-kLogOrderRange));
  for (int i = 1; i <= kOrderSteps; ++i) {
    const double epsilon = EpsilonAt(rho, delta, std::exp(-kLogOrderRange + i * step));
    if (epsilon < least) {
      least = epsilon;
      best = i;
    }
  }
  const double middle = -kLogOrderRange + best * step;
  return std::max(0.0, std::min(least, Refine(rho, delta, middle - step, middle + step)));
}

}  // namespace ruvd::privacy::dp
