// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace ruvd::privacy::dp {

// The steps of one mechanism. Each step draws every record with probability `q` (Poisson sampling),
// clips the contribution of each record to norm 1 and adds Gaussian noise with the standard
// deviation `sigma`, the noise multiplier. Neighbouring data sets differ by one record added or
// removed. q = 1 is the plain Gaussian mechanism; releases over gossip are accounted with it,
// because peers can see who participates.
struct SampledGaussian {
  double q = 1;
  double sigma = 1;
  uint64_t steps = 1;
};

// Returns INVALID_ARGUMENT for a value that is outside the ranges of privacy/limits.h
// (kMinSamplingRate, kMinNoiseMultiplier, ...) or is not a number.
absl::Status CheckSampledGaussian(const SampledGaussian& mechanism);

// Returns INVALID_ARGUMENT unless 0 < delta < 1.
absl::Status CheckDelta(double delta);

// Returns INVALID_ARGUMENT unless epsilon is finite and at least 0.
absl::Status CheckEpsilon(double epsilon);

// Returns the Renyi differential privacy of all steps at `order`, which is above 1, in nats.
// `mechanism` must have passed CheckSampledGaussian. The result is never too small, except by
// rounding (a relative error of 1e-12).
//
// For q = 1 each step has order / (2 sigma^2) (Mironov 2017, "Renyi differential privacy",
// proposition 7). Otherwise it has ln A / (order - 1) (Mironov, Talwar and Zhang 2019, "Renyi
// differential privacy of the sampled Gaussian mechanism", section 3.3), where A is a finite sum at
// integer orders and a signed infinite series at the others. At a fractional order the result is
// the smaller of two bounds: the series with its rounding error added, and the chord between the
// neighbouring integer orders, which bounds ln A because ln A is convex in the order.
double SampledGaussianRdp(const SampledGaussian& mechanism, double order);

// The two ways to compute ln A for 0 < q < 1, declared here so that a test can compare them.
namespace internal {

// Returns ln A at an integer order. A - 1 is computed as the sum over k from 2 to `order` of
// C(order, k) (1-q)^(order-k) q^k (e^((k^2-k)/(2 sigma^2)) - 1), which avoids cancellation: without
// the exponential the terms of A add up to 1.
double LogMomentAtInteger(double q, double sigma, uint64_t order);

struct SeriesSum {
  double log_moment = 0;
  double error = 0;  // bound of the rounding error of `log_moment`
};
// Sums the series at any order above 1. Its tail alternates and is summed by Euler's transform. If
// no digit of the sum is left, the error is infinite.
SeriesSum LogMomentBySeries(double q, double sigma, double order);

}  // namespace internal
}  // namespace ruvd::privacy::dp
