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

// What the operator allows a node to give away over its whole life, for one unit. A plain value.
struct PrivacyBudget {
  PrivacyUnit unit = PrivacyUnit::kNode;
  double epsilon = 0;
  double delta = 0;
  uint64_t rho_q32 = 0;  // the same in the ledger's units, rounded down

  // INVALID_ARGUMENT unless epsilon is a number of 0 or more and 0 < delta < 1.
  static absl::StatusOr<PrivacyBudget> Within(PrivacyUnit unit, double epsilon, double delta);
};

// "node" or "example".
std::string_view UnitName(PrivacyUnit unit);

// a + b, or the greatest number instead of an overflow.
uint64_t SaturatingAdd(uint64_t a, uint64_t b);

// Epsilon at `delta` of what the ledger counts. INVALID_ARGUMENT unless 0 < delta < 1.
absl::StatusOr<double> EpsilonOfUnits(uint64_t rho_q32, double delta);

// PRIVACY_BUDGET_SPENT, with the figures and the ways out, where `spent` and `cost`, in the
// ledger's units, together pass the budget of the unit, or there is none for it. Such a release is
// refused, not made smaller. INVALID_ARGUMENT for a cost of 0, which no release has.
absl::Status CheckBudget(std::span<const PrivacyBudget> budgets, PrivacyUnit unit, uint64_t spent,
                         uint64_t cost);

}  // namespace ruvd::privacy
