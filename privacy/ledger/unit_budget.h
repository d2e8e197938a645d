// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::privacy {

// The privacy that the operator lets a node spend for one unit: of the node over its whole life, of
// every lesson or user over theirs. It is a plain value.
struct UnitBudget {
  PrivacyUnit unit = PrivacyUnit::kNode;
  double epsilon = 0;
  double delta = 0;
  uint64_t rho_q32 = 0;  // a node's budget in the ledger's units, rounded down
  uint32_t rounds = 20;  // in which one lesson or user takes part at most

  // Fails with INVALID_ARGUMENT unless epsilon is finite and at least 0 and 0 < delta < 1.
  static absl::StatusOr<UnitBudget> Within(PrivacyUnit unit, double epsilon, double delta);
};

// Returns "node", "lesson" or "user".
std::string_view UnitName(PrivacyUnit unit);

// Returns the epsilon at `delta` of a cost in the ledger's units. Fails with INVALID_ARGUMENT
// unless 0 < delta < 1.
absl::StatusOr<double> EpsilonOfUnits(uint64_t rho_q32, double delta);

// Returns the budget of a unit; PRIVACY_BUDGET_SPENT if it has none, because it may then spend
// nothing.
absl::StatusOr<UnitBudget> BudgetOf(std::span<const UnitBudget> budgets, PrivacyUnit unit);

// Returns PRIVACY_BUDGET_SPENT, with the figures and the remedies, if a node's `spent` plus `cost`,
// in the ledger's units, exceeds its budget or it has no budget. Such a release is refused and not
// made smaller. Returns INVALID_ARGUMENT for a cost of 0, because every release costs something.
// What lessons and users may spend is checked by CohortLedger.
absl::Status CheckNodeBudget(std::span<const UnitBudget> budgets, uint64_t spent, uint64_t cost);

}  // namespace ruvd::privacy
