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

// Keys and plaintexts of the witness rows, which docs/store-format.md describes.
namespace ruvd::storage::witness {

inline constexpr char kRecordPrefix[] = "w/";      // time, id: all of the entry but the embeddings
inline constexpr char kEmbeddingsPrefix[] = "v/";  // time, id: the embeddings
inline constexpr char kIdPrefix[] = "i/";          // id: the record's key

inline constexpr char kCountKey[] = "count";    // number of records
inline constexpr char kExpiryKey[] = "expiry";  // the batch that is being archived

// Returns "w/" | milliseconds u64 | request id, which sorts by time.
std::string RecordKey(int64_t timestamp_ms, std::string_view request_id);
// Return the key of a record's embeddings, and the other way round.
std::string EmbeddingsKey(std::string_view record_key);
std::string RecordKeyBeside(std::string_view embeddings_key);
std::string IdKey(std::string_view request_id);
// Returns the first key of a time.
std::string RecordKeyAt(int64_t timestamp_ms);
// Return the parts of a record's key; -1 and "" when it is too short.
int64_t TimeOfRecordKey(std::string_view record_key);
std::string_view IdOfRecordKey(std::string_view record_key);

// Returns LIMIT_EXCEEDED or INVALID_ARGUMENT for an entry that must not be stored: see
// storage/limits.h.
absl::Status CheckEntry(const WitnessEntry& entry);

// Encodes the entry without the embeddings.
std::string EncodeRecord(const WitnessEntry& entry);
std::string EncodeEmbeddings(const WitnessEntry& entry);
// Return STORE_CORRUPT for bytes that the encoders do not make.
absl::StatusOr<WitnessEntry> DecodeRecord(std::string_view bytes);
absl::Status DecodeEmbeddings(std::string_view bytes, WitnessEntry* entry);

std::string EncodeCount(uint64_t records);
// Returns the number in the row; 0 without a row.
absl::StatusOr<uint64_t> ReadCount(const Database& database);

// Encodes the whole entry for an archive.
std::string EncodeArchived(const WitnessEntry& entry);
absl::StatusOr<WitnessEntry> DecodeArchived(std::string_view bytes);

// A batch of records that is being archived: a range of record keys, both ends included.
struct Expiry {
  std::string file;  // name without folder; empty: the records are deleted, not archived
  std::string first_key;
  std::string last_key;
};
std::string EncodeExpiry(const Expiry& expiry);
absl::StatusOr<Expiry> DecodeExpiry(std::string_view bytes);

}  // namespace ruvd::storage::witness
