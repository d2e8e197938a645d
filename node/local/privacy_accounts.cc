// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/privacy_accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "node/terminal/command.h"
#include "node/terminal/terminal.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

// Converts rho from the fixed-point units of the ledger.
double RhoOf(uint64_t rho_q32) {
  return std::ldexp(static_cast<double>(rho_q32), -32);
}

}  // namespace

void BudgetFlags::AddTo(Verb verb) {
  verb.Option("--node-epsilon", node_epsilon, "Budget of node-level privacy (epsilon)");
  verb.Option("--lesson-epsilon", lesson_epsilon, "Budget of every lesson (epsilon)");
  verb.Option("--user-epsilon", user_epsilon, "Budget of every user (epsilon)");
  verb.Option("--delta", delta, "Delta at which every epsilon is stated").ShowDefault();
}

absl::StatusOr<std::vector<privacy::UnitBudget>> BudgetFlags::Budgets() const {
  if (!(delta > 0 && delta < 1)) {
    return UsageError(fmt::format("--delta is {}; give a number above 0 and below 1", delta));
  }
  std::vector<privacy::UnitBudget> budgets;
  for (const auto& [unit, epsilon] : {std::pair(privacy::PrivacyUnit::kNode, node_epsilon),
                                      std::pair(privacy::PrivacyUnit::kLesson, lesson_epsilon),
                                      std::pair(privacy::PrivacyUnit::kUser, user_epsilon)}) {
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

absl::StatusOr<UnitAccount> AccountOf(privacy::PrivacyUnit unit,
                                      const storage::LedgerTotals& totals, double epsilon,
                                      const std::vector<privacy::UnitBudget>& budgets) {
  UnitAccount account{.unit = unit, .totals = totals, .epsilon = epsilon};
  const auto budget = std::ranges::find(budgets, unit, &privacy::UnitBudget::unit);
  if (budget != budgets.end()) {
    account.budget = *budget;
    if (unit == privacy::PrivacyUnit::kNode) {
      const uint64_t left =
          budget->rho_q32 > totals.rho_q32 ? budget->rho_q32 - totals.rho_q32 : uint64_t{0};
      ASSIGN_OR_RETURN(account.left, privacy::EpsilonOfUnits(left, budget->delta));
    }
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
    if (account.unit == privacy::PrivacyUnit::kNode) {
      unit.set_rho_q32(account.totals.rho_q32);
    }
    unit.set_epsilon(account.epsilon);
    if (account.budget) {
      unit.set_budget_epsilon(account.budget->epsilon);
    }
    if (account.left) {
      unit.set_left_epsilon(*account.left);
    }
  }
}

std::string AccountsTable(const std::vector<UnitAccount>& accounts, double delta) {
  std::vector<std::vector<std::string>> rows;
  for (const UnitAccount& account : accounts) {
    rows.push_back({std::string(UnitName(account.unit)),
                    std::to_string(account.totals.reservations),
                    std::to_string(account.totals.unreleased),
                    account.unit == privacy::PrivacyUnit::kNode
                        ? fmt::format("{:.6g}", RhoOf(account.totals.rho_q32))
                        : "-",
                    fmt::format("{:.3f}", account.epsilon),
                    account.budget ? fmt::format("{:.3f}", account.budget->epsilon) : "-",
                    account.left ? fmt::format("{:.3f}", *account.left) : "-"});
  }
  return "\n" +
         FormatTable({"UNIT", "RELEASES", "UNRELEASED", "RHO", "EPSILON", "BUDGET", "LEFT"}, rows) +
         fmt::format(
             "EPSILON, at delta {:.1e}, is the largest that the node, or any one lesson or user, "
             "has spent in releases of that unit; LEFT is the most that one more release may "
             "cost\n",
             delta);
}

}  // namespace ruvd::cli
