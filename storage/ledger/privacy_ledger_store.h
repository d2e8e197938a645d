// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/ledger/ledger_entry.h"

namespace ruvd {

struct PrivacyLedgerOptions {
  // A head that the chain must contain, for example of the backup that the store was restored from.
  // With it a missing head file is made anew.
  std::optional<LedgerHead> floor = {};
  // Only to verify: the head file is left as it is, and nothing may be appended.
  bool read_only = false;
};

// What a unit has been charged since the store was made.
struct LedgerTotals {
  uint64_t reservations = 0;
  uint64_t unreleased = 0;  // reserved or spent, not released: counted as spent
  uint64_t rho_q32 = 0;     // the sum, which stays at its greatest value instead of overflowing
};

// The node's record of what it gave away: append-only, every entry hashed together with all before
// it and fsynced before the call returns. Opening verifies the whole chain. The head is kept in the
// file `ledger-head` beside the store too, written after each entry, so that a store put back to an
// older state is noticed: whoever restores a store keeps the newer of the two files.
// Thread-safe; writers take turns.
class PrivacyLedgerStore {
 public:
  // LEDGER_BROKEN where the chain has a gap, was altered or does not decode, or the head file is
  // missing beside a chain; LEDGER_ROLLED_BACK where the chain does not contain the head of the
  // file or the floor. A ledger that does not open must stop all releases. `database` outlives it.
  static absl::StatusOr<std::unique_ptr<PrivacyLedgerStore>> Open(
      Database& database, const PrivacyLedgerOptions& options = {});

  // Charges a release and returns the reservation's number. Once it returns OK, or an error after
  // which the entry may be on disk, the charge counts for ever. INVALID_ARGUMENT, LIMIT_EXCEEDED,
  // the errors of Database::Write and base/file.h.
  absl::StatusOr<uint64_t> Reserve(const LedgerCharge& charge);

  // Notes that noise is drawn and bytes may leave from now on. NOT_FOUND for a number that is no
  // reservation; INVALID_ARGUMENT where it was spent before.
  absl::Status Spend(uint64_t reservation);

  // Notes that the bytes have left. NOT_FOUND; INVALID_ARGUMENT where it was not spent.
  absl::Status Release(uint64_t reservation);

  LedgerHead head() const;
  LedgerTotals totals(PrivacyUnit unit) const;

  // Shows all entries in order until the callback returns false. The callback may call the ledger.
  absl::Status ForEach(const std::function<bool(const LedgerEntry&)>& callback) const;

 private:
  struct Stage {
    LedgerKind reached = LedgerKind::kReserve;
    PrivacyUnit unit = PrivacyUnit::kNode;
  };

  explicit PrivacyLedgerStore(Database& database)
      : database_(database), head_file_(database.path() + "/ledger-head") {}

  absl::Status VerifyChain(std::map<uint64_t, Digest>* hashes_at);
  absl::Status CheckHeadRow() const;
  absl::StatusOr<std::optional<LedgerHead>> ReadHeadFile() const;
  absl::Status WriteHeadFile() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Apply(const LedgerEntry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckStage(uint64_t reservation, LedgerKind next) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Append(LedgerEntry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Database& database_;
  const std::string head_file_;
  mutable Mutex mutex_;
  LedgerHead head_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Stage> unreleased_ ABSL_GUARDED_BY(mutex_);  // by reservation
  std::map<PrivacyUnit, LedgerTotals> totals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd
