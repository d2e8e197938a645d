// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/dp/sampled_gaussian.h"

namespace ruvd::privacy::dp {

// 1.1 to 10.9 by 0.1, then 12 to 63: the orders of the usual libraries, against which our figures
// are compared.
std::vector<double> FractionalOrders();
// 2 to 64, then 80, 96, 128, 192, 256, 512: no series is needed, and large orders for a small
// epsilon; 0 to 9 % looser where the best order is small.
std::vector<double> IntegerOrders();
// Both together, which is what a release is accounted with.
std::vector<double> AllOrders();

// What a curve of Renyi orders says at one delta or epsilon.
struct RdpBound {
  double value = 0;      // epsilon, or delta
  double order = 0;      // that gave it
  bool at_edge = false;  // the smallest or largest order of all: another grid may give less
};

// "" or what to tell the operator about a bound at the edge of the grid.
std::string EdgeWarning(const RdpBound& bound);

// Smallest epsilon that Renyi privacy `rdp[i]` at `orders[i]` implies at `delta`, over all i:
// rdp + ln(1 - 1/order) - (ln delta + ln order) / (order - 1), not below 0 (Canonne, Kamath and
// Steinke 2020, "The discrete Gaussian for differential privacy", proposition 12; Balle et al.
// 2020, "Hypothesis testing interpretations and Renyi differential privacy", theorem 21). 0 where
// the total variation distance, at most sqrt(1 - e^-rdp) (Bretagnolle and Huber 1979), is below
// delta. The spans have one length above 0, orders are above 1 and grow.
RdpBound EpsilonOfRdp(std::span<const double> orders, std::span<const double> rdp, double delta);

// The inverse: smallest delta at `epsilon`, at most 1.
RdpBound DeltaOfRdp(std::span<const double> orders, std::span<const double> rdp, double epsilon);

// Adds up the Renyi privacy of adaptively chosen mechanisms (Mironov 2017, proposition 1). Not
// thread-safe.
class RdpAccountant {
 public:
  // INVALID_ARGUMENT unless the orders are 1 to kMaxRdpOrders numbers above 1 that grow, none above
  // kMaxRdpOrder.
  static absl::StatusOr<RdpAccountant> Create(std::vector<double> orders);

  // INVALID_ARGUMENT, and nothing added, for what CheckSampledGaussian refuses.
  absl::Status Compose(const SampledGaussian& mechanism);

  // INVALID_ARGUMENT for a delta outside 0 to 1, an epsilon below 0.
  absl::StatusOr<RdpBound> Epsilon(double delta) const;
  absl::StatusOr<RdpBound> Delta(double epsilon) const;

  const std::vector<double>& orders() const { return orders_; }
  // At each order, of all that was composed.
  const std::vector<double>& rdp() const { return rdp_; }

 private:
  explicit RdpAccountant(std::vector<double> orders);
  std::vector<double> orders_;
  std::vector<double> rdp_;
};

// Smallest noise multiplier, to 1e-6 relative and never below, with which `steps` steps at
// sampling rate `q` stay within (epsilon, delta) by AllOrders(). INVALID_ARGUMENT for arguments out
// of range and for an epsilon that no noise of the allowed range reaches.
absl::StatusOr<double> SampledGaussianSigma(double epsilon, double delta, double q, uint64_t steps);

}  // namespace ruvd::privacy::dp
