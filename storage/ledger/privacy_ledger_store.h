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
#include "privacy/ledger/privacy_budget.h"
#include "privacy/ledger/release_ledger.h"
#include "storage/db/database.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/ledger/ledger_rows.h"

namespace ruvd::storage {

struct PrivacyLedgerOptions {
  // A head that the chain must contain, for example of the backup that the store was restored from.
  // With it a missing head file is made anew.
  std::optional<privacy::LedgerHead> floor = {};
  // Only to verify: no file is touched, and nothing may be appended.
  bool read_only = false;
  // What may be spent, at most one for each unit. A unit without one may spend nothing.
  std::vector<privacy::PrivacyBudget> budgets = {};
  // Signs every entry, and every entry must be signed by it. nullptr: neither. Outlives the ledger.
  const privacy::NodeKey* key = nullptr;
  // File outside the store's folder that holds what was spent; empty: none. What it holds and the
  // chain lacks is charged on opening. Where it is missing beside a chain, the most expensive
  // release of each unit is charged once more.
  std::string counter_file = {};
  // Writes the head and counter files whole and durably; a seam for tests.
  std::function<absl::Status(const std::string& path, std::string_view contents)> write_file = {};
};

// What a unit has been charged since the store was made.
struct LedgerTotals {
  uint64_t reservations = 0;
  uint64_t unreleased = 0;  // reserved or spent, not released: counted as spent
  uint64_t rho_q32 = 0;     // the sum, which stays at its greatest value instead of overflowing
};

// The node's record of what it gave away: append-only, every entry hashed together with all before
// it, signed and fsynced before the call returns. Opening verifies the whole chain. The head is
// kept in the file `ledger-head` beside the store too, written after each entry, so that a store
// put back to an older state is noticed: whoever restores a store keeps the newer of the two files.
// Thread-safe; writers take turns.
class PrivacyLedgerStore final : public privacy::ReleaseLedger {
 public:
  // LEDGER_BROKEN where the chain has a gap, was altered, does not decode or is not signed by the
  // key, or the head file is missing beside a chain; LEDGER_ROLLED_BACK where the chain does not
  // contain the head of the file or the floor. A ledger that does not open must stop all releases.
  // `database` outlives it.
  static absl::StatusOr<std::unique_ptr<PrivacyLedgerStore>> Open(
      Database& database, const PrivacyLedgerOptions& options = {});

  // Also INVALID_ARGUMENT, LIMIT_EXCEEDED, the errors of Database::Write and base/file.h.
  absl::StatusOr<uint64_t> Reserve(const privacy::LedgerCharge& charge) override;
  absl::Status Spend(uint64_t reservation) override;
  absl::Status Release(uint64_t reservation) override;

  privacy::LedgerHead head() const;
  // Of a ledger that was opened only to verify, with what its counter file adds.
  LedgerTotals totals(privacy::PrivacyUnit unit) const;

  // Shows all entries in order until the callback returns false. The callback may call the ledger.
  absl::Status ForEach(const std::function<bool(const privacy::LedgerEntry&)>& callback) const;

 private:
  struct Stage {
    privacy::LedgerKind reached = privacy::LedgerKind::kReserve;
    privacy::PrivacyUnit unit = privacy::PrivacyUnit::kNode;
  };

  PrivacyLedgerStore(Database& database, PrivacyLedgerOptions options);

  absl::Status VerifyChain(std::map<uint64_t, Digest>* hashes_at);
  absl::Status CheckSignature(const ledger::LedgerRow& row, uint64_t sequence) const;
  absl::Status CheckHeadRow() const;
  absl::StatusOr<std::optional<privacy::LedgerHead>> ReadHeadFile() const;
  absl::Status WriteHeadFile() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ReadCounterFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RaiseCounter(const ledger::Counter& counter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ChargeLost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ledger::Counter Charged() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
  std::map<privacy::PrivacyUnit, LedgerTotals> totals_ ABSL_GUARDED_BY(mutex_);
  ledger::Counter dearest_ ABSL_GUARDED_BY(mutex_);  // release of each unit
  ledger::Counter counter_ ABSL_GUARDED_BY(mutex_);  // what the file holds at most
};

}  // namespace ruvd::storage
