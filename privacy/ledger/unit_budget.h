// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::privacy {

// The privacy that the operator lets a node spend for every lesson, for every user, or as a whole,
// over its life. It is a plain value.
struct UnitBudget {
  PrivacyUnit unit = PrivacyUnit::kLesson;
  double epsilon = 0;
  double delta = 0;
  uint32_t rounds = 20;                      // in which one unit takes part at most
  std::string_view key = "privacy.epsilon";  // that sets epsilon, for messages

  // Fails with INVALID_ARGUMENT unless epsilon is finite and at least 0 and 0 < delta < 1.
  static absl::StatusOr<UnitBudget> Within(PrivacyUnit unit, double epsilon, double delta);
};

// Returns "lesson", "user" or "node".
std::string_view UnitName(PrivacyUnit unit);
// Returns the unit of that name; nullopt for any other name.
std::optional<PrivacyUnit> UnitByName(std::string_view name);

// Returns the budget of a unit; PRIVACY_BUDGET_SPENT if it has none, because it may then spend
// nothing.
absl::StatusOr<UnitBudget> BudgetOf(std::span<const UnitBudget> budgets, PrivacyUnit unit);

}  // namespace ruvd::privacy
