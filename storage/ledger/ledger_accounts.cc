// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/ledger/ledger_accounts.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage::ledger {

using privacy::PrivacyUnit;

LedgerAccounts::LedgerAccounts(std::vector<privacy::UnitBudget> budgets)
    : budgets_(std::move(budgets)) {
  for (const PrivacyUnit unit : privacy::kPrivacyUnits) {
    const absl::StatusOr<privacy::UnitBudget> budget = privacy::BudgetOf(budgets_, unit);
    cohorts_.emplace(unit, budget.value_or(privacy::UnitBudget{.unit = unit}));
  }
}

void LedgerAccounts::AddToOtherUnits(const privacy::LedgerCharge& charge) {
  const privacy::dp::RdpCurve replacement = privacy::dp::ReplacementCurve(charge.curve);
  for (auto& [unit, cohorts] : cohorts_) {
    if (unit > charge.unit) {
      cohorts.AddForAll(charge.curve);
    } else if (unit < charge.unit && charge.round == 0) {
      cohorts.AddForAll(replacement);
    } else if (unit < charge.unit) {
      cohorts.AddBesides(charge.round, replacement);
    }
  }
}

absl::Status LedgerAccounts::AddLost(const privacy::LedgerCharge& charge) {
  if (charge.round == 0) {
    cohorts_.at(charge.unit).AddForAll(charge.curve);
  } else {
    RETURN_IF_ERROR(cohorts_.at(charge.unit).Add(charge.round, charge.oldest_joined, charge.curve));
  }
  AddToOtherUnits(charge);
  charged_.Add(charge);
  return absl::OkStatus();
}

absl::Status LedgerAccounts::Add(const privacy::LedgerCharge& charge) {
  RETURN_IF_ERROR(AddLost(charge));
  ++totals_[charge.unit].reservations;
  totals_[charge.unit].shares +=
      charge.mechanism == privacy::PrivacyMechanism::kDistributedGaussian ? 1 : 0;
  ++totals_[charge.unit].unreleased;
  return absl::OkStatus();
}

absl::Status LedgerAccounts::CheckParts(PrivacyUnit unit, const privacy::dp::RdpCurve& cost) const {
  for (const auto& [part, cohorts] : cohorts_) {
    if (part < unit && totals(part).reservations > 0 && privacy::BudgetOf(budgets_, part).ok()) {
      RETURN_IF_ERROR(cohorts.CheckForAll(privacy::dp::ReplacementCurve(cost)));
    }
  }
  return absl::OkStatus();
}

absl::Status LedgerAccounts::CheckNode(const privacy::dp::RdpCurve& cost) const {
  return privacy::BudgetOf(budgets_, PrivacyUnit::kNode).ok()
             ? cohorts_.at(PrivacyUnit::kNode).CheckForAll(cost)
             : absl::OkStatus();
}

absl::Status LedgerAccounts::Check(const privacy::LedgerCharge& charge) const {
  if (charge.curve == privacy::dp::RdpCurve()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a release cannot have a cost of 0; charge the curve of its noise");
  }
  RETURN_IF_ERROR(privacy::BudgetOf(budgets_, charge.unit).status());
  RETURN_IF_ERROR(CheckParts(charge.unit, charge.curve));
  RETURN_IF_ERROR(CheckNode(charge.curve));
  const privacy::CohortLedger& cohorts = cohorts_.at(charge.unit);
  return charge.round == 0 ? cohorts.CheckForAll(charge.curve)
                           : cohorts.Check(charge.round, charge.oldest_joined, charge.curve);
}

uint64_t LedgerAccounts::OldestEligible(PrivacyUnit unit, uint64_t round,
                                        const privacy::dp::RdpCurve& cost) const {
  return privacy::BudgetOf(budgets_, unit).ok() && CheckParts(unit, cost).ok()
             ? cohorts_.at(unit).OldestEligible(round, cost)
             : round + 1;
}

LedgerTotals LedgerAccounts::totals(PrivacyUnit unit) const {
  const auto found = totals_.find(unit);
  return found == totals_.end() ? LedgerTotals{} : found->second;
}

absl::StatusOr<double> LedgerAccounts::LargestEpsilon(PrivacyUnit unit, double delta) const {
  return cohorts_.at(unit).LargestEpsilon(delta);
}

}  // namespace ruvd::storage::ledger
