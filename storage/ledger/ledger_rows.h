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

// Keys and plaintexts of the ledger rows, which docs/store-format.md describes.
namespace ruvd::storage::ledger {

inline constexpr char kEntryPrefix[] = "e/";
inline constexpr char kHeadKey[] = "head";
// Returns "e/" | sequence u64.
std::string EntryKey(uint64_t sequence);

// Returns INVALID_ARGUMENT or LIMIT_EXCEEDED for a charge that must not be stored.
absl::Status CheckCharge(const privacy::LedgerCharge& charge);

std::string EncodeEntry(const privacy::LedgerEntry& entry);
// Returns LEDGER_BROKEN for bytes that the encoder does not make; the decoders below do so too.
absl::StatusOr<privacy::LedgerEntry> DecodeEntry(std::string_view bytes);

// Returns the BLAKE2b-256 of the previous hash and the bytes of an entry.
Digest ChainHash(const Digest& previous, std::string_view entry);

// An entry, and the hash of the chain up to it.
struct LedgerRow {
  std::string entry;
  Digest hash = {};
  std::optional<privacy::Signature> signature = {};
};
std::string EncodeRow(const LedgerRow& row);
absl::StatusOr<LedgerRow> DecodeRow(std::string_view bytes);

// Returns the bytes that an entry's signature covers: its place and the chain up to it.
std::string SignedBytes(const privacy::NodeId& node, uint64_t sequence, const Digest& hash);

// The chain in the rows of a store, read without trusting them: a restore compares two chains, of
// which one may be damaged.
struct Chain {
  bool intact = true;  // there is no gap, every hash is correct, and the head's row names the end
  privacy::LedgerHead head;                     // the head of the rows before the first damage
  std::optional<privacy::LedgerHead> head_row;  // nullopt: missing or damaged
  std::map<uint64_t, Digest> hashes = {};       // by sequence, for every row that decodes

  // Returns whether the chain goes through a head. The empty head is in every chain.
  bool Contains(const privacy::LedgerHead& wanted) const;
};
// Reads the chain. It never fails: what cannot be read counts as damage.
Chain ReadChain(const Database& database);

// Returns "SEQUENCE HASH\n", with the hash in hexadecimal: the content of the head's row, of its
// file and of the field in a backup's manifest.
std::string FormatHead(const privacy::LedgerHead& head);
absl::StatusOr<privacy::LedgerHead> ParseHead(std::string_view text);

}  // namespace ruvd::storage::ledger
