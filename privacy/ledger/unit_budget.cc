// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/ledger/unit_budget.h"

#include <algorithm>
#include <iterator>

#include "base/status.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/reasons.h"

namespace ruvd::privacy {

absl::StatusOr<UnitBudget> UnitBudget::Within(PrivacyUnit unit, double epsilon, double delta) {
  RETURN_IF_ERROR(dp::CheckEpsilon(epsilon));
  RETURN_IF_ERROR(dp::CheckDelta(delta));
  return UnitBudget{.unit = unit, .epsilon = epsilon, .delta = delta};
}

std::string_view UnitName(PrivacyUnit unit) {
  switch (unit) {
    case PrivacyUnit::kLesson:
      return "lesson";
    case PrivacyUnit::kUser:
      return "user";
    case PrivacyUnit::kNode:
      return "node";
  }
  return "unknown";
}

std::optional<PrivacyUnit> UnitByName(std::string_view name) {
  const auto* const unit = std::ranges::find(kPrivacyUnits, name, UnitName);
  return unit == std::end(kPrivacyUnits) ? std::nullopt : std::optional(*unit);
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

}  // namespace ruvd::privacy
