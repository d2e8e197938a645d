// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "privacy/identity/node_key.h"
#include "privacy/ledger/ledger_entry.h"
#include "storage/db/database.h"
#include "storage/ledger/privacy_ledger_store.h"

namespace ruvd::ledger {

// A node's privacy ledger as a file that anybody can check without its store: docs/store-format.md
// has the bytes. It shows what was released and what it cost, nothing of the data.

// The whole ledger at `now_ms`, Unix time. LEDGER_BROKEN where an entry is not signed (the ledger
// was written without the node's key) or the file would not verify; LIMIT_EXCEEDED above
// kMaxLedgerFileBytes.
absl::StatusOr<std::string> ExportLedger(const Database& database, const NodeKey& key,
                                         int64_t now_ms);

// What a ledger file says, once every hash and signature in it is right.
struct LedgerFileSummary {
  NodeId node{};
  PublicKey key{};
  int64_t created_ms = 0;
  LedgerHead head;
  std::map<PrivacyUnit, LedgerTotals> totals;
};

// Checks a file from outside: every entry, their order, the chain of hashes, the signatures over
// each and over the end. LEDGER_BROKEN names the entry that is wrong, KEY_INVALID an unusable key.
// Who the key belongs to is for the reader to know.
absl::StatusOr<LedgerFileSummary> VerifyLedgerFile(std::span<const uint8_t> bytes);

}  // namespace ruvd::ledger
