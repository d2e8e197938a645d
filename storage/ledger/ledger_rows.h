// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/node_key.h"
#include "privacy/ledger/ledger_entry.h"
#include "storage/db/database.h"

// Keys and plaintexts of the ledger rows; docs/store-format.md has them.
namespace ruvd::storage::ledger {

inline constexpr char kEntryPrefix[] = "e/";
inline constexpr char kHeadKey[] = "head";
// "e/" | sequence u64.
std::string EntryKey(uint64_t sequence);

// INVALID_ARGUMENT or LIMIT_EXCEEDED for a charge that must not be stored.
absl::Status CheckCharge(const privacy::LedgerCharge& charge);

std::string EncodeEntry(const privacy::LedgerEntry& entry);
// LEDGER_BROKEN for bytes that EncodeEntry does not make, here and below.
absl::StatusOr<privacy::LedgerEntry> DecodeEntry(std::string_view bytes);

// BLAKE2b-256 of the hash before and the bytes of an entry.
Digest ChainHash(const Digest& previous, std::string_view entry);

// An entry and the hash of the chain up to it.
struct LedgerRow {
  std::string entry;
  Digest hash = {};
  std::optional<privacy::Signature> signature = {};
};
std::string EncodeRow(const LedgerRow& row);
absl::StatusOr<LedgerRow> DecodeRow(std::string_view bytes);

// What the signature of an entry is over: its place and the chain up to it.
std::string SignedBytes(const privacy::NodeId& node, uint64_t sequence, const Digest& hash);

// What the rows of a store say of its chain, without trusting them: a restore compares two chains,
// of which one may be damaged.
struct Chain {
  bool intact = true;        // no gap, every hash as it should be, and the head's row names the end
  privacy::LedgerHead head;  // of the rows up to the first damage
  std::optional<privacy::LedgerHead> head_row;  // nullopt: missing or garbled
  std::map<uint64_t, Digest> hashes = {};       // by sequence, of every row that decodes

  // Whether the chain goes through a head; the empty one is in every chain.
  bool Contains(const privacy::LedgerHead& wanted) const;
};
// Never fails: what cannot be read is damage.
Chain ReadChain(const Database& database);

// "<sequence> <hash in hexadecimal>\n": the head's row, its file, and what a backup's manifest
// carries.
std::string FormatHead(const privacy::LedgerHead& head);
absl::StatusOr<privacy::LedgerHead> ParseHead(std::string_view text);

}  // namespace ruvd::storage::ledger
