// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/rdp_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/gaussian_thresholds.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();
constexpr int kFractionBits = 32;
// Relative error of a logarithm of a moment (SampledGaussianRdp)
constexpr double kMomentError = 1e-12;
constexpr double kSigmaTolerance = 1e-6;

const std::vector<double>& Orders() {
  static const auto* const orders = new std::vector<double>(IntegerOrders());
  RUVD_CHECK(orders->size() == RdpCurve::kOrders && orders->back() == RdpCurve::kLargestOrder);
  return *orders;
}

uint64_t FromNats(double nats) {
  const double units = std::ceil(std::ldexp(nats, kFractionBits));
  return units < std::ldexp(1.0, 64) ? static_cast<uint64_t>(units) : kLargest;
}

double ToNats(uint64_t units) {
  return units == kLargest ? std::numeric_limits<double>::infinity()
                           : std::ldexp(static_cast<double>(units), -kFractionBits);
}

absl::Status CheckRho(double rho) {
  if (!(rho >= 0 && std::isfinite(rho))) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "rho {} is not a finite number of at least 0; give 1 / (2 sigma^2)", rho);
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  return a > kLargest - b ? kLargest : a + b;
}

RdpCurve& RdpCurve::operator+=(const RdpCurve& other) {
  std::ranges::transform(q32, other.q32, q32.begin(), SaturatingAdd);
  return *this;
}

RdpCurve& RdpCurve::operator*=(uint64_t steps) {
  for (uint64_t& units : q32) {
    units = steps != 0 && units > kLargest / steps ? kLargest : units * steps;
  }
  return *this;
}

RdpCurve RdpCurve::Minus(const RdpCurve& other) const {
  RdpCurve rest;
  std::ranges::transform(q32, other.q32, rest.q32.begin(),
                         [](uint64_t a, uint64_t b) { return a > b ? a - b : uint64_t{0}; });
  return rest;
}

RdpCurve RdpCurve::Max(const RdpCurve& other) const {
  RdpCurve larger;
  std::ranges::transform(q32, other.q32, larger.q32.begin(),
                         [](uint64_t a, uint64_t b) { return std::max(a, b); });
  return larger;
}

bool RdpCurve::Covers(const RdpCurve& other) const {
  return Max(other) == *this;
}

bool RdpCurve::Saturated() const {
  return std::ranges::find(q32, kLargest) != q32.end();
}

absl::StatusOr<RdpCurve> SampledCurve(double q, double rho) {
  RETURN_IF_ERROR(CheckRho(rho));
  RETURN_IF_ERROR(CheckSampledGaussian({.q = q}));
  if (q == 1 || rho == 0) {
    return ZcdpCurve(rho);
  }
  const double sigma = 1 / std::sqrt(2 * rho);
  RdpCurve curve;
  uint64_t least = 0;  // Renyi privacy does not fall with the order
  for (size_t i = 0; i < RdpCurve::kOrders; ++i) {
    const double order = Orders()[i];
    const double log_moment = internal::LogMomentAtInteger(q, sigma, static_cast<uint64_t>(order));
    least = std::max(least, FromNats((1 + kMomentError) * log_moment / (order - 1)));
    curve.q32[i] = least;
  }
  return curve;
}

absl::StatusOr<RdpCurve> ZcdpCurve(double rho) {
  RETURN_IF_ERROR(CheckRho(rho));
  RdpCurve curve;
  std::ranges::transform(Orders(), curve.q32.begin(),
                         [rho](double order) { return FromNats(order * rho); });
  return curve;
}

RdpCurve ReplacementCurve(const RdpCurve& removal) {
  // Returns the number at the smallest order that is not below this one.
  const auto at = [&removal](uint64_t order) {
    const auto found = std::ranges::lower_bound(Orders(), static_cast<double>(order));
    return found == Orders().end() ? kLargest
                                   : removal.q32[static_cast<size_t>(found - Orders().begin())];
  };
  RdpCurve curve;
  std::ranges::transform(Orders(), curve.q32.begin(), [&at](double order) {
    const auto a = static_cast<uint64_t>(order);
    const Uint128 product = Uint128{at(2 * a)} * (2 * a - 1);
    const Uint128 first = (product + 2 * a - 3) / (2 * a - 2);  // rounded up
    return static_cast<uint64_t>(std::min<Uint128>(first + at(2 * a - 1), kLargest));
  });
  return curve;
}

absl::StatusOr<RdpBound> EpsilonOf(const RdpCurve& curve, double delta) {
  RETURN_IF_ERROR(CheckDelta(delta));
  std::array<double, RdpCurve::kOrders> rdp{};
  std::ranges::transform(curve.q32, rdp.begin(), ToNats);
  return EpsilonOfRdp(Orders(), rdp, delta);
}

absl::StatusOr<double> NoiseMultiplierWithin(double epsilon, double delta, double q,
                                             uint64_t steps) {
  RETURN_IF_ERROR(CheckEpsilon(epsilon));
  RETURN_IF_ERROR(CheckSampledGaussian({.q = q, .steps = steps}));
  const auto reaches = [&](double sigma) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(RdpCurve curve, SampledCurve(q, GaussianRho(sigma)));
    curve *= steps;
    ASSIGN_OR_RETURN(const RdpBound bound, EpsilonOf(curve, delta));
    return bound.value <= epsilon;
  };
  double low = limits::kMinNoiseMultiplier;
  double high = limits::kMaxNoiseMultiplier;
  ASSIGN_OR_RETURN(const bool possible, reaches(high));
  if (!possible) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "no noise multiplier up to {} reaches epsilon {} at delta {}; allow a larger one",
                 high, epsilon, delta);
  }
  while (high > low * (1 + kSigmaTolerance)) {
    const double middle = std::sqrt(low * high);
    ASSIGN_OR_RETURN(const bool within, reaches(middle));
    (within ? high : low) = middle;
  }
  return high;
}

}  // namespace ruvd::privacy::dp
