// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/ledger/cohort_ledger.h"
#include "privacy/ledger/release_ledger.h"
#include "privacy/ledger/unit_budget.h"
#include "tests/sim/sim_disk.h"

namespace ruvd::test {

// The privacy ledger of a node on a simulated disk: the budget's rule is that of privacy/ledger,
// durability is the disk's. Not thread-safe.
class SimLedger final : public privacy::ReleaseLedger {
 public:
  // `disk` must outlive the ledger. If `syncs` is false, the ledger forgets; this is for tests of
  // the invariant.
  SimLedger(SimDisk& disk, const privacy::UnitBudget& budget, bool syncs = true);

  absl::StatusOr<uint64_t> Reserve(const privacy::LedgerCharge& charge) override;
  absl::Status Spend(uint64_t reservation) override;
  absl::Status Release(uint64_t reservation) override;

  // Returns what every lesson has spent according to the disk, at the order 2.
  uint64_t spent() const { return spent_; }
  // Whether the entries that were read are numbered without a gap.
  bool whole() const { return whole_; }
  // Returns how many charges were read from the disk.
  size_t charges() const { return charges_; }

 private:
  absl::Status Note(privacy::LedgerKind kind, uint64_t reservation, privacy::LedgerKind before);
  void Append(privacy::LedgerEntry entry);
  void Count(const privacy::dp::RdpCurve& cost);

  SimDisk* disk_;
  privacy::CohortLedger spent_by_;  // by all lessons, which pay for every release
  bool syncs_;
  bool whole_ = true;
  uint64_t next_sequence_ = 1;
  uint64_t spent_ = 0;
  size_t charges_ = 0;
  std::map<uint64_t, privacy::LedgerKind> reservations_;
};

// Returns the name of a released payload in the ledger.
std::string SubjectOf(std::string_view payload);
// Returns whether the release of this payload is charged and spent on a disk, whatever happens to
// the disk.
bool IsCharged(const SimDisk& disk, std::string_view payload);

}  // namespace ruvd::test
