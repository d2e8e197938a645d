// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/dp/sampled_gaussian.h"

namespace ruvd::privacy::dp {

// Returns the orders 1.1 to 10.9 in steps of 0.1, then 12 to 63. Common libraries use these orders,
// and the tests compare our figures with theirs.
std::vector<double> FractionalOrders();
// Returns the orders 2 to 64, then 80, 96, 128, 192, 256 and 512. They need no infinite series, and
// the large ones help where epsilon is small. Where the best order is small, the bound is 0 to 9 %
// looser.
std::vector<double> IntegerOrders();
// Returns both sets together; releases are accounted with these.
std::vector<double> AllOrders();

// The bound that a curve of Renyi orders gives at one delta or epsilon.
struct RdpBound {
  double value = 0;  // epsilon, or delta
  double order = 0;  // the order that gave the bound
  bool at_edge =
      false;  // the best order is the first or last one; other orders may give a lower bound
};

// Returns the smallest epsilon that the Renyi privacy `rdp[i]` at `orders[i]` implies at `delta`,
// over all i: rdp + ln(1 - 1/order) - (ln delta + ln order) / (order - 1), but at least 0 (Canonne,
// Kamath and Steinke 2020, "The discrete Gaussian for differential privacy", proposition 12; Balle
// et al. 2020, "Hypothesis testing interpretations and Renyi differential privacy", theorem 21).
// Returns 0 if the total variation distance, which is at most sqrt(1 - e^-rdp) (Bretagnolle and
// Huber 1979), is below delta. The spans must have the same length, which is not 0, and the orders
// must be above 1 and strictly increasing.
RdpBound EpsilonOfRdp(std::span<const double> orders, std::span<const double> rdp, double delta);

// Returns the smallest delta at `epsilon`, at most 1: the inverse of EpsilonOfRdp.
RdpBound DeltaOfRdp(std::span<const double> orders, std::span<const double> rdp, double epsilon);

// Adds up the Renyi privacy of adaptively chosen mechanisms (Mironov 2017, proposition 1). Not
// thread-safe.
class RdpAccountant {
 public:
  // Fails with INVALID_ARGUMENT unless there are 1 to kMaxRdpOrders orders, strictly increasing,
  // above 1 and at most kMaxRdpOrder.
  static absl::StatusOr<RdpAccountant> Create(std::vector<double> orders);

  // Adds a mechanism. Fails with INVALID_ARGUMENT, and adds nothing, if CheckSampledGaussian
  // refuses it.
  absl::Status Compose(const SampledGaussian& mechanism);

  // Both fail with INVALID_ARGUMENT for a delta outside (0, 1) or an epsilon below 0.
  absl::StatusOr<RdpBound> Epsilon(double delta) const;
  absl::StatusOr<RdpBound> Delta(double epsilon) const;

  const std::vector<double>& orders() const { return orders_; }
  // Returns the Renyi privacy at each order of everything that was composed.
  const std::vector<double>& rdp() const { return rdp_; }

 private:
  explicit RdpAccountant(std::vector<double> orders);
  std::vector<double> orders_;
  std::vector<double> rdp_;
};

}  // namespace ruvd::privacy::dp
