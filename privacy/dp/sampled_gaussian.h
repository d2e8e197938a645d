// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace ruvd::privacy::dp {

// Steps of one mechanism: each draws every record with probability `q` (Poisson sampling), clips
// what a record adds to norm 1 and adds Gaussian noise of standard deviation `sigma`, the noise
// multiplier. Neighbouring data sets differ by one record added or removed. q = 1 is the plain
// Gaussian mechanism; what gossip sends is accounted with it, for participation can be seen.
struct SampledGaussian {
  double q = 1;
  double sigma = 1;
  uint64_t steps = 1;
};

// INVALID_ARGUMENT for what is outside the ranges of privacy/limits.h (kMinSamplingRate,
// kMinNoiseMultiplier, ...), or is no number.
absl::Status CheckSampledGaussian(const SampledGaussian& mechanism);

// INVALID_ARGUMENT unless 0 < delta < 1.
absl::Status CheckDelta(double delta);

// INVALID_ARGUMENT unless epsilon is a number of 0 or more.
absl::Status CheckEpsilon(double epsilon);

// Renyi differential privacy of all steps at `order` above 1, in nats. `mechanism` has passed
// CheckSampledGaussian. Never below the truth but by rounding (1e-12 relative).
//
// q = 1: order / (2 sigma^2) a step (Mironov 2017, "Renyi differential privacy", proposition 7).
// Otherwise ln A / (order - 1) of Mironov, Talwar and Zhang 2019, "Renyi differential privacy of
// the sampled Gaussian mechanism", section 3.3: finite sum at integer orders, signed infinite
// series at the others; there the result is the smaller of the series with its rounding error added
// and of the chord between the neighbouring integer orders, which bounds ln A since it is convex in
// the order.
double SampledGaussianRdp(const SampledGaussian& mechanism, double order);

// The two ways to ln A, 0 < q < 1, for the test that they agree.
namespace internal {

// Sum over k from 2 to `order` of C(order, k) (1-q)^(order-k) q^k (e^((k^2-k)/(2 sigma^2)) - 1),
// which is A - 1 without cancellation: the terms of A without the exponential add up to 1.
double LogMomentAtInteger(double q, double sigma, uint64_t order);

struct SeriesSum {
  double log_moment = 0;
  double error = 0;  // bound of what rounding took from or added to `log_moment`
};
// The series at any order above 1. Its tail alternates; it is summed by Euler's transform. A sum
// that has no digits left gives an infinite error.
SeriesSum LogMomentBySeries(double q, double sigma, double order);

}  // namespace internal
}  // namespace ruvd::privacy::dp
