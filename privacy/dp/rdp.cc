// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/dp/rdp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/limits.h"

namespace ruvd::privacy::dp {
namespace {

// Returns the smallest `bound_at(i)` and the order at which it occurs.
template <typename BoundAt>
RdpBound Least(std::span<const double> orders, const BoundAt& bound_at) {
  RdpBound best{.value = std::numeric_limits<double>::infinity(), .order = orders[0]};
  size_t best_index = 0;
  for (size_t i = 0; i < orders.size(); ++i) {
    const double bound = bound_at(i);
    if (bound < best.value) {
      best.value = bound;
      best_index = i;
    }
  }
  best.order = orders[best_index];
  best.at_edge = best_index == 0 || best_index + 1 == orders.size();
  return best;
}

absl::Status CheckOrders(const std::vector<double>& orders) {
  if (orders.empty() || orders.size() > limits::kMaxRdpOrders) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} Renyi orders were given; give 1 to {} orders", orders.size(),
                 limits::kMaxRdpOrders);
  }
  double previous = 1;
  for (const double order : orders) {
    if (!(order > previous && order <= limits::kMaxRdpOrder)) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "Renyi order {} follows {}; give increasing orders above 1 and at most {}",
                   order, previous, limits::kMaxRdpOrder);
    }
    previous = order;
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<double> FractionalOrders() {
  std::vector<double> orders;
  for (int tenths = 1; tenths < 100; ++tenths) {
    orders.push_back(1 + tenths / 10.0);
  }
  for (int order = 12; order < 64; ++order) {
    orders.push_back(order);
  }
  return orders;
}

std::vector<double> IntegerOrders() {
  std::vector<double> orders;
  for (int order = 2; order <= 64; ++order) {
    orders.push_back(order);
  }
  orders.insert(orders.end(), {80, 96, 128, 192, 256, 512});
  return orders;
}

std::vector<double> AllOrders() {
  std::set<double> orders;
  for (const std::vector<double>& some : {FractionalOrders(), IntegerOrders()}) {
    orders.insert(some.begin(), some.end());
  }
  return {orders.begin(), orders.end()};
}

RdpBound EpsilonOfRdp(std::span<const double> orders, std::span<const double> rdp, double delta) {
  RUVD_CHECK(!orders.empty() && orders.size() == rdp.size());
  return Least(orders, [&](size_t i) {
    if (delta * delta >= -std::expm1(-rdp[i])) {
      return 0.0;
    }
    const double order = orders[i];
    return std::max(
        0.0, rdp[i] + std::log1p(-1 / order) - (std::log(delta) + std::log(order)) / (order - 1));
  });
}

RdpBound DeltaOfRdp(std::span<const double> orders, std::span<const double> rdp, double epsilon) {
  RUVD_CHECK(!orders.empty() && orders.size() == rdp.size());
  return Least(orders, [&](size_t i) {
    const double order = orders[i];
    const double log_delta =
        (order - 1) * (rdp[i] + std::log1p(-1 / order) - epsilon) - std::log(order);
    const double total_variation = std::sqrt(-std::expm1(-rdp[i]));
    return std::min({1.0, std::exp(log_delta), total_variation});
  });
}

RdpAccountant::RdpAccountant(std::vector<double> orders)
    : orders_(std::move(orders)), rdp_(orders_.size(), 0.0) {}

absl::StatusOr<RdpAccountant> RdpAccountant::Create(std::vector<double> orders) {
  RETURN_IF_ERROR(CheckOrders(orders));
  return RdpAccountant(std::move(orders));
}

absl::Status RdpAccountant::Compose(const SampledGaussian& mechanism) {
  RETURN_IF_ERROR(CheckSampledGaussian(mechanism));
  for (size_t i = 0; i < orders_.size(); ++i) {
    rdp_[i] += SampledGaussianRdp(mechanism, orders_[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<RdpBound> RdpAccountant::Epsilon(double delta) const {
  RETURN_IF_ERROR(CheckDelta(delta));
  return EpsilonOfRdp(orders_, rdp_, delta);
}

absl::StatusOr<RdpBound> RdpAccountant::Delta(double epsilon) const {
  RETURN_IF_ERROR(CheckEpsilon(epsilon));
  return DeltaOfRdp(orders_, rdp_, epsilon);
}

}  // namespace ruvd::privacy::dp
