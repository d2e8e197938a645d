// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "privacy/identity/node_key.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/ledger/unit_budget.h"
#include "storage/db/database.h"
#include "storage/ledger/ledger_accounts.h"
#include "storage/ledger/ledger_counter.h"

namespace ruvd::storage::ledger {

// A node's privacy ledger as a file that anyone can check without the store; docs/store-format.md
// describes the bytes. It shows what was released and what it cost, but none of the data.

// Returns the whole ledger; `now_ms` is Unix time. Returns LEDGER_BROKEN when an entry is not
// signed (the ledger was written without the node's key) or the file would not verify, and
// LIMIT_EXCEEDED above limits::kMaxLedgerFileBytes.
absl::StatusOr<std::string> ExportLedger(const Database& database, const privacy::NodeKey& key,
                                         int64_t now_ms);

// The content of a ledger file whose hashes and signatures are all valid.
struct LedgerFileSummary {
  privacy::NodeId node{};
  privacy::PublicKey key{};  // the node's key when it exported the ledger
  int64_t created_ms = 0;
  privacy::LedgerHead head;
  LedgerAccounts accounts;  // recomputed from the entries alone
};

// Demands of a reader that the file itself cannot state.
struct LedgerFileDemands {
  // The privacy that may have been spent by the node, or by any lesson or user; at most one budget
  // for each unit. A unit without a budget is not limited here.
  std::vector<privacy::UnitBudget> budgets = {};
  // The charges in the node's counter file: the entries must add up to at least as much.
  std::optional<Counter> counter = {};
};

// Checks a file that may come from anyone: the rotations that led to the key, every entry, the
// order, the chain of hashes, and the signatures of each entry and of the end. No former key signs
// after a later one. Returns LEDGER_BROKEN with the first wrong entry, or with the unit for which
// the counter has more; KEY_INVALID for an unusable key; PRIVACY_BUDGET_SPENT with the first entry
// above a budget, if the file is valid otherwise. The reader must know whose key it is.
absl::StatusOr<LedgerFileSummary> VerifyLedgerFile(std::span<const uint8_t> bytes,
                                                   const LedgerFileDemands& demands = {});

}  // namespace ruvd::storage::ledger
