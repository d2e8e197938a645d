// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/db/database.h"
#include "storage/witness/witness_entry.h"

// Keys and plaintexts of the witness rows; docs/store-format.md has them.
namespace ruvd::storage::witness {

inline constexpr char kRecordPrefix[] = "w/";      // time, id: all but the embeddings
inline constexpr char kEmbeddingsPrefix[] = "v/";  // time, id: the embeddings
inline constexpr char kIdPrefix[] = "i/";          // id: the record's key

inline constexpr char kCountKey[] = "count";    // number of records
inline constexpr char kExpiryKey[] = "expiry";  // what is on its way into an archive

// "w/" | milliseconds u64 | request id: order of time.
std::string RecordKey(int64_t timestamp_ms, std::string_view request_id);
// The row of the embeddings beside that of a record.
std::string EmbeddingsKey(std::string_view record_key);
std::string RecordKeyBeside(std::string_view embeddings_key);
std::string IdKey(std::string_view request_id);
// The first key of a time.
std::string RecordKeyAt(int64_t timestamp_ms);
// The parts of a record's key; -1 and "" where it is too short.
int64_t TimeOfRecordKey(std::string_view record_key);
std::string_view IdOfRecordKey(std::string_view record_key);

// LIMIT_EXCEEDED or INVALID_ARGUMENT for an entry that must not be stored: see storage/limits.h.
absl::Status CheckEntry(const WitnessEntry& entry);

// Without the embeddings.
std::string EncodeRecord(const WitnessEntry& entry);
std::string EncodeEmbeddings(const WitnessEntry& entry);
// STORE_CORRUPT for bytes that the encoders do not make.
absl::StatusOr<WitnessEntry> DecodeRecord(std::string_view bytes);
absl::Status DecodeEmbeddings(std::string_view bytes, WitnessEntry* entry);

std::string EncodeCount(uint64_t records);
// Of the row; 0 where there is none.
absl::StatusOr<uint64_t> ReadCount(const Database& database);

// All of an entry, as archives hold it.
std::string EncodeArchived(const WitnessEntry& entry);
absl::StatusOr<WitnessEntry> DecodeArchived(std::string_view bytes);

// A batch of records that is being moved into an archive: keys of records, inclusive.
struct Expiry {
  std::string file;  // name without folder; empty: the records are deleted, not archived
  std::string first_key;
  std::string last_key;
};
std::string EncodeExpiry(const Expiry& expiry);
absl::StatusOr<Expiry> DecodeExpiry(std::string_view bytes);

}  // namespace ruvd::storage::witness
