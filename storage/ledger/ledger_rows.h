// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/ledger/ledger_entry.h"

// Keys and plaintexts of the ledger rows; docs/store-format.md has them.
namespace ruvd::ledger {

inline constexpr char kEntryPrefix[] = "e/";
inline constexpr char kHeadKey[] = "head";
// "e/" | sequence u64.
std::string EntryKey(uint64_t sequence);

// INVALID_ARGUMENT or LIMIT_EXCEEDED for a charge that must not be stored.
absl::Status CheckCharge(const LedgerCharge& charge);

std::string EncodeEntry(const LedgerEntry& entry);
// LEDGER_BROKEN for bytes that EncodeEntry does not make, here and below.
absl::StatusOr<LedgerEntry> DecodeEntry(std::string_view bytes);

// BLAKE2b-256 of the hash before and the bytes of an entry.
Digest ChainHash(const Digest& previous, std::string_view entry);

// An entry and the hash of the chain up to it.
struct LedgerRow {
  std::string entry;
  Digest hash = {};
};
std::string EncodeRow(const LedgerRow& row);
absl::StatusOr<LedgerRow> DecodeRow(std::string_view bytes);

// "<sequence> <hash in hexadecimal>\n": the head's row, its file, and what a backup's manifest
// carries.
std::string FormatHead(const LedgerHead& head);
absl::StatusOr<LedgerHead> ParseHead(std::string_view text);

}  // namespace ruvd::ledger
