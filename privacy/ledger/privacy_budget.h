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

// The privacy that the operator lets a node spend over its whole life, for one unit. It is a plain
// value.
struct PrivacyBudget {
  PrivacyUnit unit = PrivacyUnit::kNode;
  double epsilon = 0;
  double delta = 0;
  uint64_t rho_q32 = 0;  // the budget in the ledger's units, rounded down

  // Fails with INVALID_ARGUMENT unless epsilon is finite and at least 0 and 0 < delta < 1.
  static absl::StatusOr<PrivacyBudget> Within(PrivacyUnit unit, double epsilon, double delta);
};

// Returns "node" or "example".
std::string_view UnitName(PrivacyUnit unit);

// Returns the epsilon at `delta` of a cost in the ledger's units. Fails with INVALID_ARGUMENT
// unless 0 < delta < 1.
absl::StatusOr<double> EpsilonOfUnits(uint64_t rho_q32, double delta);

// Returns PRIVACY_BUDGET_SPENT, with the figures and the remedies, if `spent` plus `cost`, in the
// ledger's units, exceeds the unit's budget or the unit has no budget. Such a release is refused
// and not made smaller. Returns INVALID_ARGUMENT for a cost of 0, because every release costs
// something.
absl::Status CheckBudget(std::span<const PrivacyBudget> budgets, PrivacyUnit unit, uint64_t spent,
                         uint64_t cost);

}  // namespace ruvd::privacy
