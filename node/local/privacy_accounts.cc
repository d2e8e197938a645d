// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/privacy_accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "node/terminal/command.h"
#include "node/terminal/terminal.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {

void BudgetFlags::AddTo(Verb verb) {
  verb.Option("--lesson-epsilon", lesson_epsilon, "Budget of every lesson (epsilon)");
  verb.Option("--user-epsilon", user_epsilon, "Budget of every user (epsilon)");
  verb.Option("--node-epsilon", node_epsilon, "Budget of the node as one unit (epsilon)");
  verb.Option("--delta", delta, "Delta at which every epsilon is stated").ShowDefault();
}

absl::StatusOr<std::vector<privacy::UnitBudget>> BudgetFlags::Budgets() const {
  if (!(delta > 0 && delta < 1)) {
    return UsageError(fmt::format("--delta is {}; give a number above 0 and below 1", delta));
  }
  std::vector<privacy::UnitBudget> budgets;
  for (const auto& [unit, epsilon] : {std::pair(privacy::PrivacyUnit::kLesson, lesson_epsilon),
                                      std::pair(privacy::PrivacyUnit::kUser, user_epsilon),
                                      std::pair(privacy::PrivacyUnit::kNode, node_epsilon)}) {
    if (!epsilon) {
      continue;
    }
    const absl::StatusOr<privacy::UnitBudget> budget =
        privacy::UnitBudget::Within(unit, *epsilon, delta);
    if (!budget.ok()) {
      return UsageError(
          fmt::format("--{}-epsilon is {}; give a number of 0 or more", UnitName(unit), *epsilon));
    }
    budgets.push_back(*budget);
  }
  return budgets;
}

UnitAccount AccountOf(privacy::PrivacyUnit unit, const storage::LedgerTotals& totals,
                      double epsilon, const std::vector<privacy::UnitBudget>& budgets) {
  UnitAccount account{.unit = unit, .totals = totals, .epsilon = epsilon};
  const auto budget = std::ranges::find(budgets, unit, &privacy::UnitBudget::unit);
  if (budget != budgets.end()) {
    account.budget = *budget;
  }
  return account;
}

void WriteAccounts(const std::vector<UnitAccount>& accounts,
                   google::protobuf::RepeatedPtrField<report::v1::UnitAccount>* messages) {
  for (const UnitAccount& account : accounts) {
    report::v1::UnitAccount& unit = *messages->Add();
    unit.set_unit(std::string(UnitName(account.unit)));
    unit.set_releases(account.totals.reservations);
    unit.set_unreleased(account.totals.unreleased);
    unit.set_epsilon(account.epsilon);
    if (account.budget) {
      unit.set_budget_epsilon(account.budget->epsilon);
    }
  }
}

std::string AccountsTable(const std::vector<UnitAccount>& accounts, double delta) {
  std::vector<std::vector<std::string>> rows;
  for (const UnitAccount& account : accounts) {
    rows.push_back(
        {std::string(UnitName(account.unit)), std::to_string(account.totals.reservations),
         std::to_string(account.totals.unreleased), fmt::format("{:.3f}", account.epsilon),
         account.budget ? fmt::format("{:.3f}", account.budget->epsilon) : "-"});
  }
  return "\n" + FormatTable({"UNIT", "RELEASES", "UNRELEASED", "EPSILON", "BUDGET"}, rows) +
         fmt::format(
             "EPSILON, at delta {:.1e}, is the largest that any one lesson, or user, has spent in "
             "all releases, and what they cost the node at least, as if it were one unit\n",
             delta);
}

}  // namespace ruvd::cli
