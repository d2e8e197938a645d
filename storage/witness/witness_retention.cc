// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/witness/witness_retention.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/reasons.h"
#include "storage/witness/witness_archive.h"

namespace ruvd::storage {
namespace {

// Distinguishes batches of the same milliseconds.
constexpr size_t kFileHashBytes = 4;

// Equal records give equal names, so a batch that is begun again finds its file.
std::string FileName(const std::string& first_key, const std::string& last_key) {
  const Digest digest = Sha256({AsBytes(first_key), AsBytes(last_key)});
  return fmt::format("witness-{}-{}-{}.ruvdwit", witness::TimeOfRecordKey(first_key),
                     witness::TimeOfRecordKey(last_key),
                     ToHex(std::span(digest).first(kFileHashBytes)));
}

std::string After(const std::string& key) {
  return key + '\0';
}

// Shows the keys of all records, even of those that do not open: they are removed like the others.
absl::Status ScanKeys(const Database& database, std::string_view start, std::string_view end,
                      const Database::BrokenCallback& callback) {
  return database.Scan(
      ColumnFamily::kWitness, start, end, [&](const RowView& row) { return callback(row.key); },
      callback);
}

}  // namespace

absl::StatusOr<WitnessRetention> WitnessRetention::Open(Database& database,
                                                        WitnessRetentionOptions options) {
  RUVD_CHECK(options.archive_folder.empty() || options.archive_key.has_value());
  WitnessRetention retention(database, std::move(options));
  const absl::StatusOr<std::string> stored =
      database.Get(ColumnFamily::kWitness, witness::kExpiryKey);
  absl::StatusOr<witness::Expiry> pending = stored.ok()
                                                ? witness::DecodeExpiry(*stored)
                                                : absl::StatusOr<witness::Expiry>(stored.status());
  if (pending.ok()) {
    retention.pending_ = *std::move(pending);
  } else if (!absl::IsNotFound(pending.status()) && !absl::IsDataLoss(pending.status())) {
    return pending.status();
  }
  return retention;
}

int64_t WitnessRetention::Cutoff(std::optional<int64_t> now_ms) const {
  return now_ms ? *now_ms - options_.retention.count() : std::numeric_limits<int64_t>::min();
}

absl::StatusOr<bool> WitnessRetention::Begin(std::optional<int64_t> now_ms, uint64_t stored) {
  if (pending_) {
    return true;
  }
  const int64_t cutoff = Cutoff(now_ms);
  const uint64_t surplus = stored - std::min<uint64_t>(stored, options_.capacity);
  uint64_t count = 0;
  witness::Expiry expiry;
  RETURN_IF_ERROR(ScanKeys(*database_, witness::kRecordPrefix, EndOfPrefix(witness::kRecordPrefix),
                           [&](std::string_view key) -> absl::StatusOr<bool> {
                             if (count >= options_.batch ||
                                 (count >= surplus && witness::TimeOfRecordKey(key) >= cutoff)) {
                               return false;
                             }
                             if (count++ == 0) {
                               expiry.first_key = key;
                             }
                             expiry.last_key = key;
                             return true;
                           }));
  if (count == 0) {
    return false;
  }
  expiry.file = archives() ? FileName(expiry.first_key, expiry.last_key) : "";
  Batch batch;
  batch.MarkFreesSpace();
  batch.Put(ColumnFamily::kWitness, witness::kExpiryKey, witness::EncodeExpiry(expiry));
  RETURN_IF_ERROR(database_->Write(std::move(batch), Durability::kPowerLoss));
  pending_ = std::move(expiry);
  return true;
}

bool WitnessRetention::ReadExistingFile() {
  std::error_code error;
  if (!std::filesystem::exists(PathOf(*pending_), error)) {
    return false;
  }
  const auto summary = ReadWitnessArchive(
      PathOf(*pending_), *options_.archive_key, [this](const WitnessEntry& entry) {
        archived_.insert(witness::RecordKey(entry.timestamp_ms, entry.request_id));
        return absl::OkStatus();
      });
  if (!summary.ok()) {
    archived_.clear();  // no record was deleted yet: the file is written anew
  }
  return summary.ok();
}

absl::StatusOr<WitnessEntry> WitnessRetention::ReadEntry(const RowView& row) const {
  ASSIGN_OR_RETURN(WitnessEntry entry, witness::DecodeRecord(row.value));
  const absl::StatusOr<std::string> embeddings =
      database_->Get(ColumnFamily::kWitness, witness::EmbeddingsKey(row.key));
  if (!embeddings.ok() && !absl::IsNotFound(embeddings.status()) &&
      ReasonOf(embeddings.status()) != reasons::kSealBroken) {
    return embeddings.status();
  }
  // An entry is useful without its embeddings.
  if (!embeddings.ok() || !witness::DecodeEmbeddings(*embeddings, &entry).ok()) {
    entry.query_embedding.clear();
    entry.response_embedding.clear();
  }
  return entry;
}

absl::Status WitnessRetention::FindUndecodable() {
  const auto broken = [this](std::string_view key) -> absl::StatusOr<bool> {
    undecodable_.emplace(key);
    return true;
  };
  return database_->Scan(
      ColumnFamily::kWitness, pending_->first_key, After(pending_->last_key),
      [&](const RowView& row) -> absl::StatusOr<bool> {
        return witness::DecodeRecord(row.value).ok() || *broken(row.key);
      },
      broken);
}

absl::Status WitnessRetention::WriteFile() {
  archived_.clear();
  undecodable_.clear();
  RETURN_IF_ERROR(FindUndecodable());
  // If the operator turned archives off meanwhile, the records are to be deleted.
  if (!archives() || pending_->file.empty() || ReadExistingFile()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<WitnessArchiveWriter> writer,
                   WitnessArchiveWriter::Create(PathOf(*pending_), *options_.archive_key));
  const auto add = [&](const RowView& row) -> absl::StatusOr<bool> {
    if (undecodable_.contains(row.key)) {
      return true;
    }
    ASSIGN_OR_RETURN(const WitnessEntry entry, ReadEntry(row));
    RETURN_IF_ERROR(writer->Add(row.key, entry));
    archived_.emplace(row.key);
    return true;
  };
  RETURN_IF_ERROR(database_->Scan(ColumnFamily::kWitness, pending_->first_key,
                                  After(pending_->last_key), add,
                                  [](std::string_view) -> absl::StatusOr<bool> { return true; }));
  return writer->Commit();
}

absl::StatusOr<WitnessRetention::Finished> WitnessRetention::Finish(std::optional<int64_t> now_ms,
                                                                    Batch* batch) {
  const bool check = archives() && !pending_->file.empty();
  const int64_t cutoff = Cutoff(now_ms);
  Finished finished;
  std::vector<std::string> keys;
  bool others = false;  // entered the range after the file was made
  const auto take = [&](std::string_view key) -> absl::StatusOr<bool> {
    const bool undecodable = undecodable_.contains(key);
    if (check && !undecodable && !archived_.contains(key)) {
      others = true;
      return true;
    }
    keys.emplace_back(key);
    finished.crowded_out += now_ms && witness::TimeOfRecordKey(key) >= cutoff ? 1 : 0;
    finished.undecodable += undecodable ? 1 : 0;
    batch->Delete(ColumnFamily::kWitness, witness::IdKey(witness::IdOfRecordKey(key)));
    return true;
  };
  RETURN_IF_ERROR(ScanKeys(*database_, pending_->first_key, After(pending_->last_key), take));
  if (others) {
    for (const std::string& key : keys) {
      batch->Delete(ColumnFamily::kWitness, key);
      batch->Delete(ColumnFamily::kWitness, witness::EmbeddingsKey(key));
    }
  } else {
    batch->DeleteRange(ColumnFamily::kWitness, pending_->first_key, After(pending_->last_key));
    batch->DeleteRange(ColumnFamily::kWitness, witness::EmbeddingsKey(pending_->first_key),
                       After(witness::EmbeddingsKey(pending_->last_key)));
  }
  batch->Delete(ColumnFamily::kWitness, witness::kExpiryKey);
  finished.entries = keys.size();
  return finished;
}

}  // namespace ruvd::storage
