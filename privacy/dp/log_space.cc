// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/log_space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace ruvd::privacy::dp {
namespace {

// Below this argument erfc underflows to subnormal numbers.
constexpr double kErfcRange = -37;
const double kHalfLogTwoPi = 0.5 * std::log(2 * std::numbers::pi);

double NormalCdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

}  // namespace

double LogAdd(double a, double b) {
  const double high = std::max(a, b);
  const double low = std::min(a, b);
  if (low == -std::numeric_limits<double>::infinity()) {
    return high;
  }
  return high + std::log1p(std::exp(low - high));
}

double LogNormalCdf(double x) {
  if (x > 0) {
    return std::log1p(-NormalCdf(-x));
  }
  if (x > kErfcRange) {
    return std::log(NormalCdf(x));
  }
  const double inverse_square = 1 / (x * x);
  double term = 1;
  double series = 1;
  for (int k = 1; k <= 10; ++k) {  // at 37 the tenth term is below 1e-22
    term *= -(2 * k - 1) * inverse_square;
    series += term;
  }
  return -0.5 * x * x - std::log(-x) - kHalfLogTwoPi + std::log(series);
}

double NormalMassBetween(double a, double b) {
  return std::max(0.0, a > 0 ? NormalCdf(-a) - NormalCdf(-b) : NormalCdf(b) - NormalCdf(a));
}

}  // namespace ruvd::privacy::dp
