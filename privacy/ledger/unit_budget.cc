// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/ledger/unit_budget.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {
namespace {

constexpr int kFractionBits = 32;

absl::Status Spent(const UnitBudget& budget, uint64_t spent, uint64_t cost) {
  ASSIGN_OR_RETURN(const double before, EpsilonOfUnits(spent, budget.delta));
  ASSIGN_OR_RETURN(const double after,
                   EpsilonOfUnits(dp::SaturatingAdd(spent, cost), budget.delta));
  return Error(absl::StatusCode::kResourceExhausted, reasons::kPrivacyBudgetSpent,
               "this release would take the {}-level privacy spent from epsilon {:.3f} to {:.3f} "
               "at delta {:.1e}, above the budget of {:.3f}; nothing was released. What is spent "
               "does not come back: share in a masked clique, whose sums cost less, allow a larger "
               "epsilon, or stop sharing",
               UnitName(budget.unit), before, after, budget.delta, budget.epsilon);
}

}  // namespace

absl::StatusOr<UnitBudget> UnitBudget::Within(PrivacyUnit unit, double epsilon, double delta) {
  ASSIGN_OR_RETURN(const double rho, dp::RhoForEpsilon(epsilon, delta));
  const double units = std::floor(std::ldexp(rho, kFractionBits));
  UnitBudget budget{.unit = unit, .epsilon = epsilon, .delta = delta};
  budget.rho_q32 = units >= std::ldexp(1.0, 64) ? std::numeric_limits<uint64_t>::max()
                                                : static_cast<uint64_t>(units);
  return budget;
}

std::string_view UnitName(PrivacyUnit unit) {
  switch (unit) {
    case PrivacyUnit::kNode:
      return "node";
    case PrivacyUnit::kLesson:
      return "lesson";
    case PrivacyUnit::kUser:
      return "user";
  }
  return "unknown";
}

absl::StatusOr<double> EpsilonOfUnits(uint64_t rho_q32, double delta) {
  return dp::EpsilonOfRho(std::ldexp(static_cast<double>(rho_q32), -kFractionBits), delta);
}

absl::StatusOr<UnitBudget> BudgetOf(std::span<const UnitBudget> budgets, PrivacyUnit unit) {
  const auto budget = std::ranges::find(budgets, unit, &UnitBudget::unit);
  if (budget == budgets.end()) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kPrivacyBudgetSpent,
                 "there is no budget for {}-level privacy, so nothing may be released; allow an "
                 "epsilon for it",
                 UnitName(unit));
  }
  return *budget;
}

absl::Status CheckNodeBudget(std::span<const UnitBudget> budgets, uint64_t spent, uint64_t cost) {
  if (cost == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a release cannot have a cost of 0; charge the rho of its noise");
  }
  ASSIGN_OR_RETURN(const UnitBudget budget, BudgetOf(budgets, PrivacyUnit::kNode));
  return dp::SaturatingAdd(spent, cost) <= budget.rho_q32 ? absl::OkStatus()
                                                          : Spent(budget, spent, cost);
}

}  // namespace ruvd::privacy
