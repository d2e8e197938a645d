// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/ledger/cohort_ledger.h"
#include "privacy/ledger/release_ledger.h"
#include "privacy/ledger/unit_budget.h"
#include "tests/sim/sim_disk.h"

namespace ruvd::test {

// The privacy ledger of a node's lessons on a simulated disk: the budget's rule is that of
// privacy/ledger, durability is the disk's. Not thread-safe.
class SimLedger final : public privacy::ReleaseLedger {
 public:
  // `disk` must outlive the ledger. If `syncs` is false, the ledger forgets; this is for tests of
  // the invariant.
  SimLedger(SimDisk& disk, const privacy::UnitBudget& budget, bool syncs = true);

  absl::Status Check(const privacy::LedgerCharge& charge) const override {
    return lessons_.Check(charge.round, charge.oldest_joined, charge.curve);
  }
  absl::StatusOr<uint64_t> Reserve(const privacy::LedgerCharge& charge) override;
  absl::Status Spend(uint64_t reservation) override;
  absl::Status Release(uint64_t reservation) override;

  // Entries wait in memory until Flush: a seeded defect.
  void Defer() { defers_ = true; }
  void Flush();

  // Returns the oldest joining round whose lessons may still take part, as CohortLedger does.
  uint64_t OldestEligible(uint64_t round, const privacy::dp::RdpCurve& cost) const {
    return lessons_.OldestEligible(round, cost);
  }
  const privacy::UnitBudget& budget() const { return budget_; }
  // Returns the number of the newest entry; 0: there is no entry.
  uint64_t newest() const { return next_sequence_ - 1; }
  // Returns the newest round that was charged; 0: none was.
  uint64_t newest_round() const { return lessons_.newest_round(); }
  // Returns a measure of what was spent according to the disk, which every charge increases.
  uint64_t spent() const { return spent_; }
  // Returns the name of a round that is charged twice; empty: none is.
  const std::string& charged_twice() const { return charged_twice_; }
  // Whether the entries that were read are numbered without a gap.
  bool whole() const { return whole_; }
  // Returns how many charges were read from the disk.
  size_t charges() const { return charges_; }

 private:
  absl::Status Note(privacy::LedgerKind kind, uint64_t reservation, privacy::LedgerKind before);
  absl::Status Count(const privacy::LedgerCharge& charge);
  void Append(privacy::LedgerEntry entry);

  void Write(const privacy::LedgerEntry& entry);

  SimDisk* disk_;
  privacy::UnitBudget budget_;
  privacy::CohortLedger lessons_;
  bool syncs_;
  bool defers_ = false;
  std::vector<privacy::LedgerEntry> deferred_;
  bool whole_ = true;
  uint64_t next_sequence_ = 1;
  uint64_t spent_ = 0;
  size_t charges_ = 0;
  std::set<std::string> subjects_;
  std::string charged_twice_;
  std::map<uint64_t, privacy::LedgerKind> reservations_;
};

// Returns the name of a released payload in the ledger.
std::string SubjectOf(std::string_view payload);
// Returns the name of a node's release with noise in a round (sharing::TermsOfRound).
std::string SubjectOfRound(uint64_t round);
// Returns whether what has this name in the ledger is charged and spent on a disk, whatever happens
// to the disk.
bool IsCharged(const SimDisk& disk, std::string_view subject);

}  // namespace ruvd::test
