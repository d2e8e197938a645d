// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "privacy/identity/node_key.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/ledger/release_ledger.h"
#include "privacy/ledger/unit_budget.h"
#include "storage/db/database.h"
#include "storage/ledger/ledger_accounts.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/ledger/ledger_rows.h"

namespace ruvd::storage {

struct PrivacyLedgerOptions {
  // A head that the chain must contain, for example that of the backup from which the store was
  // restored. With it, a missing head file is made anew.
  std::optional<privacy::LedgerHead> floor = {};
  // Opens the ledger for verification only: no file is changed, and nothing may be appended.
  bool read_only = false;
  // The privacy that may be spent, at most one budget for each unit. A unit without a budget may
  // spend nothing. A budget of the node limits the charges of all units (LedgerAccounts).
  std::vector<privacy::UnitBudget> budgets = {};
  // Signs every entry, and every stored entry must be signed by it. With nullptr entries are
  // neither signed nor checked. It must outlive the ledger.
  const privacy::NodeKey* key = nullptr;
  // A file outside the store's folder with the privacy spent so far; empty: no file. On opening,
  // the ledger is charged with what only the file has. If the file is missing beside a chain, the
  // most expensive release of each unit is charged once more.
  std::string counter_file = {};
  // Writes the head and counter files completely and durably; tests may replace it.
  std::function<absl::Status(const std::string& path, std::string_view contents)> write_file = {};
};

// The node's record of what it released. It is append-only: every entry is hashed together with all
// earlier ones, signed, and fsynced before the call returns. Opening verifies the whole chain.
// After each entry the head is also written to the file `ledger-head` beside the store, so that an
// older copy of the store is noticed; a restore must keep the newer of the two files. Thread-safe;
// writers run one at a time.
class PrivacyLedgerStore final : public privacy::ReleaseLedger {
 public:
  // Returns LEDGER_BROKEN when the chain has a gap, was altered, does not decode or is not signed
  // by the key, or when the head file is missing beside a chain; LEDGER_ROLLED_BACK when the chain
  // does not contain the head in the file or the floor. If the ledger does not open, all releases
  // must stop. `database` must outlive it.
  static absl::StatusOr<std::unique_ptr<PrivacyLedgerStore>> Open(
      Database& database, const PrivacyLedgerOptions& options = {});

  // The methods may also return INVALID_ARGUMENT, LIMIT_EXCEEDED, and the errors of Database::Write
  // and base/file.h.
  absl::StatusOr<uint64_t> Reserve(const privacy::LedgerCharge& charge) override;
  absl::Status Spend(uint64_t reservation) override;
  absl::Status Release(uint64_t reservation) override;

  privacy::LedgerHead head() const;
  LedgerTotals totals(privacy::PrivacyUnit unit) const;
  // Returns the largest epsilon at `delta` that any lesson, any user, or the node has spent in
  // charges of all units (LedgerAccounts). For a ledger opened only for verification it includes
  // what only its counter file has. Fails with INVALID_ARGUMENT unless 0 < delta < 1.
  absl::StatusOr<double> LargestEpsilon(privacy::PrivacyUnit unit, double delta) const;
  // Returns all charges, with those that only the counter file has.
  ledger::Counter counter() const;
  // Returns the error with which Reserve would refuse a charge, or OK.
  absl::Status Check(const privacy::LedgerCharge& charge) const override;
  // Returns PRIVACY_BUDGET_SPENT, with the figures, if there is a budget of the node and a charge
  // of any unit would exceed it.
  absl::Status CheckNode(const privacy::dp::RdpCurve& cost) const;

  // Returns the oldest joining round whose units may still take part in `round` at this cost, apart
  // from a budget of the node, which is for CheckNode. Units that were once too old stay so; a
  // result above `round` means that no unit may.
  uint64_t OldestEligible(privacy::PrivacyUnit unit, uint64_t round,
                          const privacy::dp::RdpCurve& cost) const;

  // Shows all entries in order until the callback returns false. The callback may call the ledger.
  absl::Status ForEach(const std::function<bool(const privacy::LedgerEntry&)>& callback) const;

 private:
  struct Stage {
    privacy::LedgerKind reached = privacy::LedgerKind::kReserve;
    privacy::PrivacyUnit unit = privacy::PrivacyUnit::kLesson;
  };

  PrivacyLedgerStore(Database& database, PrivacyLedgerOptions options);

  absl::Status VerifyChain(std::map<uint64_t, Digest>* hashes_at);
  // Moves `signer`, the epoch of the key that signed the entry before, to that of this one.
  absl::Status CheckSignature(const ledger::LedgerRow& row, uint64_t sequence,
                              uint32_t* signer) const;
  absl::Status CheckHeadRow() const;
  absl::StatusOr<std::optional<privacy::LedgerHead>> ReadHeadFile() const;
  absl::Status WriteHeadFile() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReadCounterFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RaiseCounter(const ledger::Counter& counter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ChargeLost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Apply(const privacy::LedgerEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckStage(uint64_t reservation, privacy::LedgerKind next) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Append(privacy::LedgerEntry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Database& database_;
  const PrivacyLedgerOptions options_;
  const std::string head_file_;
  mutable Mutex mutex_;
  privacy::LedgerHead head_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Stage> unreleased_ ABSL_GUARDED_BY(mutex_);  // by reservation
  ledger::LedgerAccounts accounts_ ABSL_GUARDED_BY(mutex_);       // of the chain
  // The most expensive release of each unit, as one outside rounds
  ledger::Counter dearest_ ABSL_GUARDED_BY(mutex_);
  ledger::Counter counter_ ABSL_GUARDED_BY(mutex_);  // the file holds at most this
};

}  // namespace ruvd::storage
