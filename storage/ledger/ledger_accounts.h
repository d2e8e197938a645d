// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/ledger/cohort_ledger.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/ledger/unit_budget.h"
#include "storage/ledger/ledger_counter.h"

namespace ruvd::storage {

// The charges of a unit since the store was made.
struct LedgerTotals {
  uint64_t reservations = 0;
  uint64_t shares = 0;      // of the reservations, those for shares of masked sums
  uint64_t unreleased = 0;  // reserved or spent but not released: counted as spent
};

}  // namespace ruvd::storage

namespace ruvd::storage::ledger {

// What the entries of a ledger add up to, by unit. Not thread-safe.
//
// An operator may change the unit of a node, so a charge of one unit counts for the others, too:
//
// - A release that hides users also touches each lesson that had come by its round. Without that
//   lesson, its user's share in the sum would be another one, and not none, because the user may
//   have more lessons. So the lesson pays for a replacement of the user (dp::ReplacementCurve). For
//   the same reason a lesson and a user pay for a replacement of the node where a release hides it.
// - A release that hides lessons costs its user as much as one lesson, and each release may hold
//   another lesson of the user. So a user pays for all charges of lessons, whenever they joined,
//   as if one unit had borne them. That bounds a user with one lesson in each release. With k
//   lessons in a release it costs the user k^2 times the rho, but the ledger does not know k, and
//   such a release promised nothing to users. The node pays in this way for all charges of lessons
//   and of users: its account is the least that was spent on the node, not the most.
//
// A budget of the node is a limit for everything, so no charge of any unit may exceed it. A budget
// of users limits no charge of lessons, which promised nothing to users.
class LedgerAccounts {
 public:
  // At most one budget for each unit; a unit without one may spend nothing, but is counted.
  explicit LedgerAccounts(std::vector<privacy::UnitBudget> budgets);
  LedgerAccounts() : LedgerAccounts(std::vector<privacy::UnitBudget>()) {}

  // Counts the charge of a reserve entry. Fails with INVALID_ARGUMENT, and counts nothing, for a
  // round before an earlier one.
  absl::Status Add(const privacy::LedgerCharge& charge);
  // Counts a release of a charge of that unit.
  void AddRelease(privacy::PrivacyUnit unit) { --totals_[unit].unreleased; }
  // Counts the cost of charges of which there is no entry. Fails as Add does.
  absl::Status AddLost(const privacy::LedgerCharge& charge);

  // Returns PRIVACY_BUDGET_SPENT, with the figures, if a charge exceeds the budget of its unit or
  // of the node, and INVALID_ARGUMENT for a cost of 0 or a round before an earlier one.
  absl::Status Check(const privacy::LedgerCharge& charge) const;
  // Returns PRIVACY_BUDGET_SPENT, with the figures, if there is a budget of the node and a charge
  // of any unit would exceed it.
  absl::Status CheckNode(const privacy::dp::RdpCurve& cost) const;

  // Returns the oldest joining round whose units may still take part in `round` at this cost
  // (CohortLedger); `round` + 1, which means that none may, for a unit without a budget and for one
  // whose lessons or users cannot pay. It does not look at the budget of the node for other units,
  // which takes in all of them or none: CheckNode says with which figures.
  uint64_t OldestEligible(privacy::PrivacyUnit unit, uint64_t round,
                          const privacy::dp::RdpCurve& cost) const;

  // Returns zeros for a unit without charges.
  LedgerTotals totals(privacy::PrivacyUnit unit) const;
  const Counter& charged() const { return charged_; }
  // Returns the largest epsilon at `delta` that any lesson, any user, or the node has spent in
  // charges of all units. Fails with INVALID_ARGUMENT unless 0 < delta < 1.
  absl::StatusOr<double> LargestEpsilon(privacy::PrivacyUnit unit, double delta) const;

 private:
  void AddToOtherUnits(const privacy::LedgerCharge& charge);
  // Returns PRIVACY_BUDGET_SPENT if a charge of users, or of the node, would bring a lesson or user
  // in it above its budget, on a node that charged such units before. A node that never did
  // promised them nothing.
  absl::Status CheckParts(privacy::PrivacyUnit unit, const privacy::dp::RdpCurve& cost) const;

  std::vector<privacy::UnitBudget> budgets_;
  std::map<privacy::PrivacyUnit, LedgerTotals> totals_;
  std::map<privacy::PrivacyUnit, privacy::CohortLedger> cohorts_;
  Counter charged_;
};

}  // namespace ruvd::storage::ledger
