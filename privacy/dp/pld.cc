// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/pld.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/fourier.h"
#include "privacy/dp/loss_distribution.h"
#include "privacy/dp/rdp.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

using Complex = std::complex<double>;

// The tails of one step that are cut have a probability of delta times e^-30. The mass of the sum
// outside the window has a share of at most e^-30.
constexpr double kCutNats = 30;
constexpr double kWindowNats = 30;
// How often another weight is tried if the window does not contain the answer
constexpr int kMaxWindows = 24;
constexpr int kMaxHalvings = 24;

// A loss distribution that is composed `steps` times.
struct Part {
  LossDistribution loss;
  std::vector<double> log_mass;
  double steps = 1;
};

double LossAt(const Part& part, size_t i) {
  return (static_cast<double>(part.loss.first) + static_cast<double>(i)) * part.loss.interval;
}

// Returns ln of the sum of mass times e^(theta loss).
double LogMoment(const Part& part, double theta) {
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < part.log_mass.size(); ++i) {
    largest = std::max(largest, part.log_mass[i] + theta * LossAt(part, i));
  }
  double sum = 0;
  for (size_t i = 0; i < part.log_mass.size(); ++i) {
    sum += std::exp(part.log_mass[i] + theta * LossAt(part, i) - largest);
  }
  return largest + std::log(sum);
}

double LogMoment(std::span<const Part> parts, double theta) {
  double sum = 0;
  for (const Part& part : parts) {
    sum += part.steps * LogMoment(part, theta);
  }
  return sum;
}

// Returns the part's masses times e^(theta loss), scaled so that they add up to 1.
std::vector<double> Weighted(const Part& part, double theta) {
  const double log_moment = LogMoment(part, theta);
  std::vector<double> weighted(part.log_mass.size());
  for (size_t i = 0; i < weighted.size(); ++i) {
    weighted[i] = std::exp(part.log_mass[i] + theta * LossAt(part, i) - log_moment);
  }
  return weighted;
}

Complex Product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Complex Power(Complex base, uint64_t exponent) {
  Complex power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      power = Product(power, base);
    }
    base = Product(base, base);
  }
  return power;
}

size_t Modulo(int64_t value, size_t size) {
  const auto modulus = static_cast<int64_t>(size);
  return static_cast<size_t>((value % modulus + modulus) % modulus);
}

// The weighted sum of all parts over a window of losses.
struct Window {
  double theta = 0;
  double interval = 0;
  int64_t first = 0;  // the lowest loss of the window, in intervals
  double log_moment = 0;
  double beyond = 0;          // bound of the unweighted mass above the window
  std::vector<double> share;  // shares of the weighted mass, with the rounding error added
};

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments WeightedMoments(std::span<const Part> parts, double theta) {
  Moments total;
  for (const Part& part : parts) {
    const std::vector<double> weighted = Weighted(part, theta);
    double mean = 0;
    for (size_t i = 0; i < weighted.size(); ++i) {
      mean += weighted[i] * LossAt(part, i);
    }
    double variance = 0;
    for (size_t i = 0; i < weighted.size(); ++i) {
      variance += weighted[i] * (LossAt(part, i) - mean) * (LossAt(part, i) - mean);
    }
    total.mean += part.steps * mean;
    total.variance += part.steps * variance;
  }
  return total;
}

// Returns the distance from the mean that the weighted sum exceeds with a probability of at most
// e^-kWindowNats, upwards if `sign` is 1. It is the smallest of Chernoff's bounds, which decrease
// and then increase again. The search goes downwards from twice the best weight for a normal
// distribution, because rare large losses need much smaller weights.
double Reach(std::span<const Part> parts, double theta, double log_moment, const Moments& moments,
             double sign) {
  double reach = std::numeric_limits<double>::infinity();
  double lambda = 2 * std::sqrt(2 * kWindowNats / moments.variance);
  for (int i = 0; i < kMaxHalvings; ++i, lambda /= 2) {
    const double excess = LogMoment(parts, theta + sign * lambda) - log_moment;
    const double bound = (excess - sign * lambda * moments.mean + kWindowNats) / lambda;
    if (bound >= reach) {
      break;
    }
    reach = bound;
  }
  return reach;
}

// Returns the convolution of the masses of all parts.
std::vector<double> Convolve(std::span<const Part> parts, double theta, size_t size) {
  const Fourier fourier(size);
  std::vector<Complex> spectrum(size, Complex(1));
  std::vector<Complex> values(size);
  for (const Part& part : parts) {
    std::ranges::fill(values, Complex(0));
    const std::vector<double> weighted = Weighted(part, theta);
    for (size_t i = 0; i < weighted.size(); ++i) {
      values[Modulo(part.loss.first + static_cast<int64_t>(i), size)] += weighted[i];
    }
    fourier.Forward(values);
    for (size_t i = 0; i < size; ++i) {
      spectrum[i] = Product(spectrum[i], Power(values[i], static_cast<uint64_t>(part.steps)));
    }
  }
  fourier.Inverse(spectrum);
  std::vector<double> shares(size);
  for (size_t i = 0; i < size; ++i) {
    shares[i] = std::max(0.0, spectrum[i].real() / static_cast<double>(size));
  }
  return shares;
}

absl::StatusOr<Window> MakeWindow(std::span<const Part> parts, double theta) {
  const double interval = parts[0].loss.interval;
  Moments moments = WeightedMoments(parts, theta);
  moments.variance = std::max(moments.variance, interval * interval);
  const double log_moment = LogMoment(parts, theta);
  const double low = moments.mean - Reach(parts, theta, log_moment, moments, -1);
  const double high = moments.mean + Reach(parts, theta, log_moment, moments, 1);
  const double cells = std::ceil((high - low) / interval) + 2;
  if (!(cells <= static_cast<double>(limits::kMaxPldCells))) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the sum of privacy losses needs {} cells of {}, above {}; take a coarser "
                 "interval or more noise",
                 cells, interval, limits::kMaxPldCells);
  }
  Window window{.theta = theta, .interval = interval, .log_moment = log_moment};
  window.first = static_cast<int64_t>(std::floor(low / interval));
  window.beyond = std::exp(log_moment - theta * high - kWindowNats);
  const size_t size = std::bit_ceil(static_cast<size_t>(cells));
  const std::vector<double> shares = Convolve(parts, theta, size);
  // Powers multiply the rounding error of the transform.
  double steps = std::bit_width(size);
  for (const Part& part : parts) {
    steps += part.steps;
  }
  const double rounding =
      steps * 4 * std::numeric_limits<double>::epsilon() * *std::ranges::max_element(shares);
  window.share.resize(size);
  for (size_t i = 0; i < size; ++i) {
    window.share[i] = shares[Modulo(window.first + static_cast<int64_t>(i), size)] + rounding;
  }
  return window;
}

enum class Place : uint8_t { kFound, kBelow, kAbove };

struct Answer {
  Place place = Place::kFound;
  double epsilon = 0;
};

// Finds the epsilon at which the losses of the window have `delta`, going downwards from the top of
// the window: at each cell `mass` is the probability of larger losses and `divergence` is the delta
// there.
Answer FindEpsilon(const Window& window, double delta) {
  const double target = delta - window.beyond;
  if (target <= 0) {
    return {.place = Place::kAbove};
  }
  const double shrink = std::exp(-window.interval);
  double mass = 0;
  double divergence = 0;
  for (size_t i = window.share.size(); i-- > 1;) {
    const auto cell = static_cast<double>(window.first + static_cast<int64_t>(i));
    if (cell <= 0) {
      return {.place = Place::kFound, .epsilon = 0};
    }
    const double loss = cell * window.interval;
    mass += window.share[i] * std::exp(window.log_moment - window.theta * loss);
    divergence = divergence * shrink + mass * (1 - shrink);
    if (divergence > target) {
      if (i + 1 == window.share.size()) {
        return {.place = Place::kAbove};
      }
      // Between two cells delta is linear in e^epsilon.
      const double epsilon =
          loss - window.interval + std::log((mass - target) / (mass - divergence));
      return {.place = Place::kFound, .epsilon = std::max(0.0, epsilon)};
    }
  }
  return {.place = Place::kBelow};
}

absl::StatusOr<std::vector<Part>> MakeParts(std::span<const SampledGaussian> mechanisms,
                                            Neighbour neighbour, double interval, double log_tail) {
  std::vector<Part> parts;
  for (const SampledGaussian& mechanism : mechanisms) {
    ASSIGN_OR_RETURN(LossDistribution loss,
                     SampledGaussianLoss(mechanism, neighbour, interval, log_tail));
    Part part{.loss = std::move(loss), .steps = static_cast<double>(mechanism.steps)};
    for (const double mass : part.loss.mass) {
      part.log_mass.push_back(std::log(mass));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// `theta` is a first guess of the weight that centres the window on the answer.
absl::StatusOr<double> EpsilonOfParts(std::span<const Part> parts, double delta, double theta) {
  double unbounded = 0;
  for (const Part& part : parts) {
    unbounded += part.steps * part.loss.infinite;
  }
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kMaxWindows; ++i) {
    ASSIGN_OR_RETURN(const Window window, MakeWindow(parts, theta));
    const Answer answer = FindEpsilon(window, delta - unbounded);
    if (answer.place == Place::kFound) {
      return answer.epsilon;
    }
    (answer.place == Place::kBelow ? high : low) = theta;
    theta = low == 0 ? high / 2 : std::isinf(high) ? low * 2 : std::sqrt(low * high);
  }
  return Error(absl::StatusCode::kInternal, reasons::kInternal,
               "no window of privacy losses holds delta {}; use the Renyi accountant", delta);
}

// Gaussian mechanisms without sampling are merged into one, because their squared inverse sigmas
// add up.
absl::Status Merge(const SampledGaussian& added, SampledGaussian& into) {
  if (added.q < 1) {
    into.steps += added.steps;
    return CheckSampledGaussian(into);
  }
  const double inverse_square = static_cast<double>(into.steps) / (into.sigma * into.sigma) +
                                static_cast<double>(added.steps) / (added.sigma * added.sigma);
  into = {.q = 1, .sigma = 1 / std::sqrt(inverse_square), .steps = 1};
  return CheckSampledGaussian(into);
}

}  // namespace

absl::Status PldAccountant::Compose(const SampledGaussian& mechanism) {
  RETURN_IF_ERROR(CheckSampledGaussian(mechanism));
  for (SampledGaussian& known : mechanisms_) {
    if (known.q == mechanism.q && (known.q == 1 || known.sigma == mechanism.sigma)) {
      SampledGaussian merged = known;
      RETURN_IF_ERROR(Merge(mechanism, merged));
      known = merged;
      return absl::OkStatus();
    }
  }
  SampledGaussian added = mechanism;
  if (added.q == 1 && added.steps > 1) {
    added.steps -= 1;
    SampledGaussian one = mechanism;
    one.steps = 1;
    RETURN_IF_ERROR(Merge(one, added));
  }
  mechanisms_.push_back(added);
  return absl::OkStatus();
}

absl::StatusOr<double> PldAccountant::Epsilon(double delta) const {
  RETURN_IF_ERROR(CheckDelta(delta));
  if (mechanisms_.empty()) {
    return 0;
  }
  ASSIGN_OR_RETURN(RdpAccountant renyi, RdpAccountant::Create(AllOrders()));
  double steps = 0;
  for (const SampledGaussian& mechanism : mechanisms_) {
    RETURN_IF_ERROR(renyi.Compose(mechanism));
    steps += static_cast<double>(mechanism.steps);
  }
  ASSIGN_OR_RETURN(const RdpBound bound, renyi.Epsilon(delta));
  double epsilon = 0;
  for (const Neighbour neighbour : {Neighbour::kRemoved, Neighbour::kAdded}) {
    ASSIGN_OR_RETURN(
        const std::vector<Part> parts,
        MakeParts(mechanisms_, neighbour, interval_, std::log(delta) - std::log(steps) - kCutNats));
    ASSIGN_OR_RETURN(const double reached, EpsilonOfParts(parts, delta, bound.order - 1));
    epsilon = std::max(epsilon, reached);
    if (mechanisms_.size() == 1 && mechanisms_[0].q == 1) {
      break;  // both directions have the same distribution
    }
  }
  return epsilon;
}

}  // namespace ruvd::privacy::dp
