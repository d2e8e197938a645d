// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <utility>

#include "base/status.h"
#include "privacy/dp/analytic_gaussian.h"
#include "privacy/dp/pld.h"
#include "privacy/dp/rdp.h"
#include "privacy/dp/sampled_gaussian.h"
#include "tests/privacy/reference/reference_table.h"

namespace ruvd::privacy::dp {
namespace {

absl::StatusOr<double> RenyiEpsilon(std::vector<double> orders, const SampledGaussian& mechanism,
                                    double delta) {
  ASSIGN_OR_RETURN(RdpAccountant accountant, RdpAccountant::Create(std::move(orders)));
  RETURN_IF_ERROR(accountant.Compose(mechanism));
  ASSIGN_OR_RETURN(const RdpBound bound, accountant.Epsilon(delta));
  return bound.value;
}

}  // namespace

absl::StatusOr<double> Compute(const ReferenceRow& row) {
  const SampledGaussian mechanism{.q = row.q, .sigma = row.sigma, .steps = row.steps};
  switch (row.method) {
    case Method::kRdp:
      return RenyiEpsilon(FractionalOrders(), mechanism, row.delta);
    case Method::kRdpInteger:
      return RenyiEpsilon(IntegerOrders(), mechanism, row.delta);
    case Method::kPld: {
      PldAccountant accountant;
      RETURN_IF_ERROR(accountant.Compose(mechanism));
      return accountant.Epsilon(row.delta);
    }
    case Method::kAnalyticSigma:
      return GaussianSigma(row.sigma, row.delta);
    case Method::kRdpAtOrder:
      return SampledGaussianRdp(mechanism, row.order);
  }
  return absl::InternalError("no such method");
}

bool Agrees(const ReferenceRow& row, double got) {
  return std::abs(got - row.expected) <= row.tolerance * std::abs(row.expected);
}

}  // namespace ruvd::privacy::dp
