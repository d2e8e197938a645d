// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "privacy/dp/rdp.h"

namespace ruvd::privacy::dp {

// Returns a + b, or the largest number if that overflows.
uint64_t SaturatingAdd(uint64_t a, uint64_t b);

// The Renyi privacy of mechanisms at the orders IntegerOrders(), in units of 2^-32 nats, rounded
// up. The largest number stands for all that are not smaller. Integers add up without an error, so
// a sum of curves loses nothing, while a sum of epsilons or of rhos does where records are sampled.
// It is a plain value.
struct RdpCurve {
  static constexpr size_t kOrders = 69;
  static constexpr double kLargestOrder = 512;
  std::array<uint64_t, kOrders> q32{};

  RdpCurve& operator+=(const RdpCurve& other);
  // Composes `steps` mechanisms with this curve.
  RdpCurve& operator*=(uint64_t steps);
  // Returns this - other, order by order, or 0 at an order where `other` is larger.
  RdpCurve Minus(const RdpCurve& other) const;
  // Returns the larger of both at every order.
  RdpCurve Max(const RdpCurve& other) const;
  // Returns whether no order of `other` is above this.
  bool Covers(const RdpCurve& other) const;
  // Returns whether an order has reached the largest number, from where on it no longer counts.
  bool Saturated() const;
  bool operator==(const RdpCurve&) const = default;
};

// Returns the curve of `rho`-zCDP mechanisms that see one Poisson sample, in which each record is
// with probability `q`. At order a it is ln(sum_k C(a,k) (1-q)^(a-k) q^k e^((k^2-k) rho)) / (a-1),
// because the k-th moment of a rho-zCDP mechanism is at most e^((k^2-k) rho) and integer noise
// around an integer shift is symmetric (Mironov, Talwar and Zhang 2019, "Renyi differential privacy
// of the sampled Gaussian mechanism", theorem 5 and section 3.3). It holds for the discrete
// Gaussian, with rho = 1 / (2 sigma^2), for a sum of shares of noise (NoiseShares::rho), and for
// several releases of one sample, whose rhos add up, as long as no release is chosen by the output
// of another one. Charges for one sample must be those of the sum of rhos, which is more than the
// sum of two curves. It does not fall with the order and is never too small. Fails with
// INVALID_ARGUMENT for a q outside kMinSamplingRate to 1, or a rho that is not finite or below 0.
absl::StatusOr<RdpCurve> SampledCurve(double q, double rho);

// Returns the curve of a rho-zCDP mechanism without sampling: a * rho at order a. Fails with
// INVALID_ARGUMENT unless rho is finite and at least 0.
absl::StatusOr<RdpCurve> ZcdpCurve(double rho);

// Returns the curve of replacing a record by another one, for mechanisms whose curve of adding or
// removing a record is `removal`. At order a it is (a - 1/2) / (a - 1) r(2 a) + r(2 a - 1), by the
// way over the data without the record (Mironov 2017, "Renyi differential privacy", proposition 11
// with p = q = 2). Where no order of the curve is as large as 2 a, it is the largest number;
// between orders the next one stands, because Renyi privacy does not fall with the order.
RdpCurve ReplacementCurve(const RdpCurve& removal);

// Returns the smallest epsilon at `delta`, which is infinite if the curve is Saturated() at every
// order. Fails with INVALID_ARGUMENT unless 0 < delta < 1.
absl::StatusOr<RdpBound> EpsilonOf(const RdpCurve& curve, double delta);

// Returns the smallest noise multiplier with which `steps` steps at sampling rate `q` stay within
// (epsilon, delta), as SampledCurve and EpsilonOf count. Its relative error is at most 1e-6 and
// never makes it too small. Fails with INVALID_ARGUMENT for arguments out of range, and if no
// allowed noise multiplier reaches epsilon.
absl::StatusOr<double> NoiseMultiplierWithin(double epsilon, double delta, double q,
                                             uint64_t steps);

}  // namespace ruvd::privacy::dp
