// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/witness/witness_retention.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/witness/witness_archive.h"

namespace ruvd {
namespace {

constexpr char kExpiryKey[] = "expiry";
// Names batches of the same milliseconds apart.
constexpr size_t kFileHashBytes = 4;

// The same records give the same name: a batch that is begun again finds its file.
std::string FileName(const std::string& first_key, const std::string& last_key) {
  const Digest digest = Sha256({AsBytes(first_key), AsBytes(last_key)});
  return fmt::format("witness-{}-{}-{}.ruvdwit", witness::TimeOfRecordKey(first_key),
                     witness::TimeOfRecordKey(last_key),
                     ToHex(std::span(digest).first(kFileHashBytes)));
}

std::string After(const std::string& key) {
  return key + '\0';
}

}  // namespace

absl::StatusOr<WitnessRetention> WitnessRetention::Open(Database& database,
                                                        WitnessRetentionOptions options) {
  RUVD_CHECK(options.archive_folder.empty() || options.archive_key.has_value());
  WitnessRetention retention(database, std::move(options));
  const absl::StatusOr<std::string> stored = database.Get(ColumnFamily::kWitness, kExpiryKey);
  if (stored.ok()) {
    ASSIGN_OR_RETURN(retention.pending_, witness::DecodeExpiry(*stored));
  } else if (!absl::IsNotFound(stored.status())) {
    return stored.status();
  }
  return retention;
}

absl::StatusOr<bool> WitnessRetention::Begin(int64_t now_ms, uint64_t stored) {
  if (pending_) {
    return true;
  }
  const int64_t cutoff = now_ms - options_.retention.count();
  const uint64_t surplus = stored - std::min<uint64_t>(stored, options_.capacity);
  uint64_t count = 0;
  witness::Expiry expiry;
  RETURN_IF_ERROR(database_->Scan(
      ColumnFamily::kWitness, witness::kRecordPrefix, EndOfPrefix(witness::kRecordPrefix),
      [&](const RowView& row) -> absl::StatusOr<bool> {
        if (count >= options_.batch ||
            (count >= surplus && witness::TimeOfRecordKey(row.key) >= cutoff)) {
          return false;
        }
        if (count++ == 0) {
          expiry.first_key = row.key;
        }
        expiry.last_key = row.key;
        return true;
      }));
  if (count == 0) {
    return false;
  }
  expiry.file = archives() ? FileName(expiry.first_key, expiry.last_key) : "";
  Batch batch;
  batch.Put(ColumnFamily::kWitness, kExpiryKey, witness::EncodeExpiry(expiry));
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
    archived_.clear();  // the records are all still there: it is written anew
  }
  return summary.ok();
}

absl::Status WitnessRetention::ScanPending(const Database::RowCallback& callback) const {
  return database_->Scan(ColumnFamily::kWitness, pending_->first_key, After(pending_->last_key),
                         callback);
}

absl::Status WitnessRetention::WriteFile() {
  archived_.clear();
  // An operator who turned archives off meanwhile wants the records deleted.
  if (!archives() || pending_->file.empty() || ReadExistingFile()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<WitnessArchiveWriter> writer,
                   WitnessArchiveWriter::Create(PathOf(*pending_), *options_.archive_key));
  const auto add = [&](const RowView& row) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(WitnessEntry entry, witness::DecodeRecord(row.value));
    ASSIGN_OR_RETURN(const std::string embeddings,
                     database_->Get(ColumnFamily::kWitness, witness::EmbeddingsKey(row.key)));
    RETURN_IF_ERROR(witness::DecodeEmbeddings(embeddings, &entry));
    RETURN_IF_ERROR(writer->Add(row.key, entry));
    archived_.emplace(row.key);
    return true;
  };
  RETURN_IF_ERROR(ScanPending(add));
  return writer->Commit();
}

absl::StatusOr<uint64_t> WitnessRetention::Finish(Batch* batch) {
  const bool check = archives() && !pending_->file.empty();
  std::vector<std::string> keys;
  bool others = false;  // came into the range after the file was made
  RETURN_IF_ERROR(ScanPending([&](const RowView& row) -> absl::StatusOr<bool> {
    if (check && !archived_.contains(row.key)) {
      others = true;
    } else {
      keys.emplace_back(row.key);
      batch->Delete(ColumnFamily::kWitness, witness::TimeKey(witness::IdOfRecordKey(row.key)));
    }
    return true;
  }));
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
  batch->Delete(ColumnFamily::kWitness, kExpiryKey);
  return keys.size();
}

}  // namespace ruvd
