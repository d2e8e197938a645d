// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "privacy/identity/node_key.h"
#include "privacy/ledger/ledger_entry.h"
#include "privacy/ledger/privacy_budget.h"
#include "storage/db/database.h"
#include "storage/ledger/ledger_counter.h"
#include "storage/ledger/privacy_ledger_store.h"

namespace ruvd::storage::ledger {

// A node's privacy ledger as a file that anybody can check without its store: docs/store-format.md
// has the bytes. It shows what was released and what it cost, nothing of the data.

// The whole ledger at `now_ms`, Unix time. LEDGER_BROKEN where an entry is not signed (the ledger
// was written without the node's key) or the file would not verify; LIMIT_EXCEEDED above
// limits::kMaxLedgerFileBytes.
absl::StatusOr<std::string> ExportLedger(const Database& database, const privacy::NodeKey& key,
                                         int64_t now_ms);

// What a ledger file says, once every hash and signature in it is right.
struct LedgerFileSummary {
  privacy::NodeId node{};
  privacy::PublicKey key{};
  int64_t created_ms = 0;
  privacy::LedgerHead head;
  std::map<privacy::PrivacyUnit, LedgerTotals> totals;
};

// What a reader asks of a ledger file beyond what it says itself.
struct LedgerFileDemands {
  // What may have been spent, at most one for each unit. A unit without one is not limited here.
  std::vector<privacy::PrivacyBudget> budgets = {};
  // What the node's counter file says was charged: the entries must add up to as much.
  std::optional<Counter> counter = {};
};

// Checks a file from outside: every entry, their order, the chain of hashes, the signatures over
// each and over the end. LEDGER_BROKEN names the first entry that is wrong, or the unit of which
// the counter says more; KEY_INVALID an unusable key; PRIVACY_BUDGET_SPENT the first entry above a
// budget, of a file that is right otherwise. Who the key belongs to is for the reader to know.
absl::StatusOr<LedgerFileSummary> VerifyLedgerFile(std::span<const uint8_t> bytes,
                                                   const LedgerFileDemands& demands = {});

}  // namespace ruvd::storage::ledger
