// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/repeated_field.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "node/terminal/verb.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/ledger/unit_budget.h"
#include "storage/ledger/ledger_accounts.h"

namespace ruvd::report::v1 {
class UnitAccount;
}  // namespace ruvd::report::v1

// What `ruvd privacy` prints of the accounts of a privacy ledger.
namespace ruvd::cli {

// The budgets that a node may have spent, as given by its operator or by a verifier.
struct BudgetFlags {
  std::optional<double> lesson_epsilon;
  std::optional<double> user_epsilon;
  std::optional<double> node_epsilon;
  double delta = 1e-6;

  void AddTo(Verb verb);
  // Returns the budgets. USAGE if a value is out of range.
  absl::StatusOr<std::vector<privacy::UnitBudget>> Budgets() const;
};

// What was spent for one privacy unit, and its budget.
struct UnitAccount {
  privacy::PrivacyUnit unit = privacy::PrivacyUnit::kLesson;
  storage::LedgerTotals totals;
  double epsilon = 0;  // the largest that any one unit has spent
  std::optional<privacy::UnitBudget> budget = {};
};

// Returns the account of a unit that has spent `epsilon`; the budgets may have none for it.
UnitAccount AccountOf(privacy::PrivacyUnit unit, const storage::LedgerTotals& totals,
                      double epsilon, const std::vector<privacy::UnitBudget>& budgets);

void WriteAccounts(const std::vector<UnitAccount>& accounts,
                   google::protobuf::RepeatedPtrField<report::v1::UnitAccount>* messages);
std::string AccountsTable(const std::vector<UnitAccount>& accounts, double delta);

}  // namespace ruvd::cli
