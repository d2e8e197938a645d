// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/loss_distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/log_space.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

// Smaller masses have lost digits. If the other mass is smaller, all of a cell's mass goes to its
// upper end.
constexpr double kSmallestMass = 1e-290;

// The pair of output distributions: N(0, sigma^2) without the record, and (1-q) N(0, sigma^2) + q
// N(1, sigma^2) with it.
class OutputPair {
 public:
  explicit OutputPair(const SampledGaussian& mechanism)
      : q_(mechanism.q), sigma_(mechanism.sigma) {}

  // Returns ln of the ratio of the densities with and without the record at output x. It increases
  // with x.
  double LogRatio(double x) const {
    const double exponent = (2 * x - 1) / (2 * sigma_ * sigma_);
    return q_ == 1 ? exponent : LogAdd(std::log1p(-q_), std::log(q_) + exponent);
  }
  // Returns the output at which LogRatio is `ratio`, or -infinity if `ratio` is below the infimum
  // ln(1-q).
  double OutputOf(double ratio) const {
    if (q_ == 1) {
      return sigma_ * sigma_ * ratio + 0.5;
    }
    const double scaled = std::expm1(ratio) + q_;
    if (scaled <= 0) {
      return -std::numeric_limits<double>::infinity();
    }
    // For losses of hundreds e^ratio overflows, and there the difference does not matter.
    const double log_scaled =
        ratio > 30 ? ratio + std::log1p((q_ - 1) * std::exp(-ratio)) : std::log(scaled);
    return sigma_ * sigma_ * (log_scaled - std::log(q_)) + 0.5;
  }
  double MassWithout(double from, double to) const {
    return NormalMassBetween(from / sigma_, to / sigma_);
  }
  double MassWith(double from, double to) const {
    return (1 - q_) * MassWithout(from, to) +
           q_ * NormalMassBetween((from - 1) / sigma_, (to - 1) / sigma_);
  }

 private:
  double q_;
  double sigma_;
};

// Both distributions, seen from the data set whose loss is computed: for a removed record the loss
// increases with the output, for an added one it decreases.
class LossView {
 public:
  LossView(const SampledGaussian& mechanism, Neighbour neighbour)
      : pair_(mechanism), removed_(neighbour == Neighbour::kRemoved) {}

  double Loss(double x) const { return removed_ ? pair_.LogRatio(x) : -pair_.LogRatio(x); }

  struct Masses {
    double own = 0;
    double other = 0;
  };
  // Returns the masses of the losses in an interval.
  Masses Between(double low, double high) const {
    const double from = pair_.OutputOf(removed_ ? low : -high);
    const double to = pair_.OutputOf(removed_ ? high : -low);
    const double with = pair_.MassWith(from, to);
    const double without = pair_.MassWithout(from, to);
    return removed_ ? Masses{with, without} : Masses{without, with};
  }

 private:
  OutputPair pair_;
  bool removed_;
};

}  // namespace

absl::StatusOr<LossDistribution> SampledGaussianLoss(const SampledGaussian& mechanism,
                                                     Neighbour neighbour, double interval,
                                                     double log_tail) {
  const LossView view(mechanism, neighbour);
  // The reach follows from Phi(-c) <= e^(-c^2/2) / 2.
  const double reach = std::sqrt(-2 * log_tail) * mechanism.sigma;
  const auto [low_loss, high_loss] = std::minmax({view.Loss(-reach), view.Loss(1 + reach)});
  const double first = std::floor(low_loss / interval);
  const double last = std::ceil(high_loss / interval);
  if (!(last - first < static_cast<double>(limits::kMaxPldCells))) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "privacy losses from {} to {} need more than {} cells of {}; take a coarser "
                 "interval or more noise",
                 low_loss, high_loss, limits::kMaxPldCells, interval);
  }
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  LossDistribution loss{.first = static_cast<int64_t>(first), .interval = interval};
  loss.mass.assign(static_cast<size_t>(last - first) + 1, 0.0);
  loss.mass.front() = view.Between(-kUnbounded, first * interval).own;
  loss.infinite = view.Between(last * interval, kUnbounded).own;
  for (size_t i = 0; i + 1 < loss.mass.size(); ++i) {
    const double low = (first + static_cast<double>(i)) * interval;
    const LossView::Masses masses = view.Between(low, low + interval);
    // The masses u at the cell's upper end and l at its lower end solve u + l = own and u e^-high +
    // l e^-low = other.
    const double matched = masses.other < kSmallestMass ? 0.0 : std::exp(low) * masses.other;
    const double upper =
        std::clamp((masses.own - matched) / -std::expm1(-interval), 0.0, masses.own);
    loss.mass[i] += masses.own - upper;
    loss.mass[i + 1] += upper;
  }
  return loss;
}

}  // namespace ruvd::privacy::dp
