// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/sampled_gaussian.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/log_space.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Number of terms after the last positive one before Euler's transform starts; by then the terms
// decrease smoothly
constexpr int kLeadTerms = 16;
constexpr int kEulerTerms = 64;
// A term that is this much smaller than the largest, in nats, does not change the sum.
constexpr double kNegligible = 42;

// Returns the weights of the terms under Euler's transform, which is the mean of the last partial
// sums with binomial weights. The weight of a term is the share of the partial sums that contain
// it.
std::array<double, kEulerTerms> EulerWeights() {
  std::array<double, kEulerTerms> weights{};
  double coefficient = std::ldexp(1.0, -kEulerTerms);  // C(n, n) / 2^n
  double tail = coefficient;
  for (int i = kEulerTerms - 1; i >= 0; --i) {
    weights[static_cast<size_t>(i)] = tail;
    coefficient *= static_cast<double>(i + 1) / static_cast<double>(kEulerTerms - i);
    tail += coefficient;
  }
  return weights;
}

struct Term {
  double log_size;
  double sign;
  double rounding;  // relative
};

// Returns term k of both halves of the integral, left and right of the point where the sampled and
// the unsampled part have equal density.
Term SeriesTerm(double q, double sigma, double order, int k, double log_binomial, double sign) {
  const double log_q = std::log(q);
  const double log_rest = std::log1p(-q);
  const double twice_variance = 2 * sigma * sigma;
  const double middle = sigma * sigma * (log_rest - log_q) + 0.5;
  const double i = k;
  const double j = order - k;
  const double left =
      j * log_rest + i * log_q + (i * i - i) / twice_variance + LogNormalCdf((middle - i) / sigma);
  const double right =
      i * log_rest + j * log_q + (j * j - j) / twice_variance + LogNormalCdf((j - middle) / sigma);
  // Near the end of the series the exponent is a small difference of two large numbers.
  const double parts = std::abs(i * log_q) + std::abs(j * log_rest) + std::abs(log_binomial) +
                       (left > right ? i * i : j * j) / twice_variance;
  return {.log_size = log_binomial + LogAdd(left, right),
          .sign = sign,
          .rounding = (parts + 4) * std::numeric_limits<double>::epsilon()};
}

internal::SeriesSum AddUp(const std::vector<Term>& terms, double largest) {
  double sum = 0;
  double error = 0;
  for (const Term& term : terms) {
    const double size = std::exp(term.log_size - largest);
    sum += term.sign * size;
    error += size * term.rounding;
  }
  if (!(sum > error)) {
    return {.log_moment = 0, .error = kInfinity};
  }
  return {.log_moment = largest + std::log(sum), .error = -std::log1p(-error / sum)};
}

// Returns the chord of ln A between the neighbouring integer orders. ln A is convex in the order
// and 0 at order 1.
double ChordOfIntegers(double q, double sigma, double order) {
  const auto below = static_cast<uint64_t>(order);
  const double share = order - static_cast<double>(below);
  return (1 - share) * internal::LogMomentAtInteger(q, sigma, below) +
         share * internal::LogMomentAtInteger(q, sigma, below + 1);
}

}  // namespace

absl::Status CheckSampledGaussian(const SampledGaussian& mechanism) {
  if (!(mechanism.q >= limits::kMinSamplingRate && mechanism.q <= 1)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "sampling rate {} is outside {} to 1; give the probability that a record is drawn",
                 mechanism.q, limits::kMinSamplingRate);
  }
  if (!(mechanism.sigma >= limits::kMinNoiseMultiplier &&
        mechanism.sigma <= limits::kMaxNoiseMultiplier)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "noise multiplier {} is outside {} to {}; give noise over clip norm",
                 mechanism.sigma, limits::kMinNoiseMultiplier, limits::kMaxNoiseMultiplier);
  }
  if (mechanism.steps == 0 || mechanism.steps > limits::kMaxPrivacySteps) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} steps are outside 1 to {}; give the number of noised releases",
                 mechanism.steps, limits::kMaxPrivacySteps);
  }
  return absl::OkStatus();
}

absl::Status CheckDelta(double delta) {
  if (!(delta > 0 && delta < 1)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "delta {} is not between 0 and 1; give about one over the number of records, "
                 "squared",
                 delta);
  }
  return absl::OkStatus();
}

absl::Status CheckEpsilon(double epsilon) {
  if (!(epsilon >= 0 && std::isfinite(epsilon))) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "epsilon {} is not a finite number of at least 0; give one such as 0.1 to 10",
                 epsilon);
  }
  return absl::OkStatus();
}

double SampledGaussianRdp(const SampledGaussian& mechanism, double order) {
  const auto [q, sigma, steps] = mechanism;
  const auto count = static_cast<double>(steps);
  if (q == 1) {
    return count * order / (2 * sigma * sigma);
  }
  double log_moment = 0;
  if (order == std::floor(order)) {
    log_moment = internal::LogMomentAtInteger(q, sigma, static_cast<uint64_t>(order));
  } else {
    const internal::SeriesSum series = internal::LogMomentBySeries(q, sigma, order);
    log_moment = std::min(series.log_moment + series.error, ChordOfIntegers(q, sigma, order));
  }
  return count * log_moment / (order - 1);
}

namespace internal {

double LogMomentAtInteger(double q, double sigma, uint64_t order) {
  const double log_q = std::log(q);
  const double log_rest = std::log1p(-q);
  double log_binomial = 0;  // of k = 0
  double log_excess = -kInfinity;
  for (uint64_t k = 1; k <= order; ++k) {
    const auto i = static_cast<double>(k);
    const auto left = static_cast<double>(order - k);
    log_binomial += std::log((left + 1) / i);
    if (k == 1) {
      continue;
    }
    const double exponent = (i * i - i) / (2 * sigma * sigma);
    // ln(e^x - 1), which is x for a large x.
    const double log_gain = exponent + std::log(-std::expm1(-exponent));
    log_excess = LogAdd(log_excess, log_binomial + left * log_rest + i * log_q + log_gain);
  }
  return LogAdd(0, log_excess);
}

SeriesSum LogMomentBySeries(double q, double sigma, double order) {
  static const std::array<double, kEulerTerms> weights = EulerWeights();
  const int lead = static_cast<int>(std::ceil(order)) + kLeadTerms;
  std::vector<Term> terms;
  double largest = -kInfinity;
  double log_binomial = 0;
  double sign = 1;
  for (int k = 0; k < lead + kEulerTerms; ++k) {
    Term term = SeriesTerm(q, sigma, order, k, log_binomial, sign);
    largest = std::max(largest, term.log_size);
    if (k > order && term.log_size < largest - kNegligible) {
      break;
    }
    if (k >= lead) {
      term.log_size += std::log(weights[static_cast<size_t>(k - lead)]);
    }
    terms.push_back(term);
    const double factor = order - k;
    if (factor == 0) {
      break;  // at an integer order every later coefficient is zero
    }
    log_binomial += std::log(std::abs(factor) / (k + 1));
    sign = factor < 0 ? -sign : sign;
  }
  return AddUp(terms, largest);
}

}  // namespace internal
}  // namespace ruvd::privacy::dp
