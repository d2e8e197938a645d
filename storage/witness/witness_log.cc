// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/witness/witness_log.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/reasons.h"
#include "storage/witness/witness_rows.h"

namespace ruvd::storage {
namespace {

absl::Status NoSuchEntry(std::string_view request_id) {
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "there is no witness entry of request {}; list the entries to see which ones exist",
               request_id.substr(0, limits::kMaxResponseIdBytes));
}

absl::StatusOr<uint64_t> CountRecords(const Database& database) {
  uint64_t records = 0;
  const auto count = [&](std::string_view) -> absl::StatusOr<bool> {
    ++records;
    return true;
  };
  RETURN_IF_ERROR(database.Scan(
      ColumnFamily::kWitness, witness::kRecordPrefix, EndOfPrefix(witness::kRecordPrefix),
      [&](const RowView& row) { return count(row.key); }, count));
  return records;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WitnessLog>> WitnessLog::Open(Database& database,
                                                             WitnessLogOptions options) {
  absl::StatusOr<uint64_t> stored = witness::ReadCount(database);
  if (absl::IsDataLoss(stored.status())) {
    stored = CountRecords(database);
  }
  RETURN_IF_ERROR(stored.status());
  ASSIGN_OR_RETURN(WitnessRetention retention,
                   WitnessRetention::Open(database, std::move(options.retention)));
  std::unique_ptr<WitnessLog> log(new WitnessLog(database, options, std::move(retention)));
  const MutexLock lock(log->queue_mutex_);
  log->counts_.stored = *stored;
  return log;
}

absl::Status WitnessLog::Append(WitnessEntry entry, TimePoint now) {
  const absl::Status fit = witness::CheckEntry(entry);
  const MutexLock lock(queue_mutex_);
  if (!fit.ok()) {
    ++counts_.unfit;
    return fit;
  }
  if (!queue_.Push(std::move(entry), now)) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull,
                 "{} witness entries are waiting for the disk, which is the limit; check the disk",
                 queue_.size());
  }
  return absl::OkStatus();
}

std::optional<TimePoint> WitnessLog::NextDue() const {
  const MutexLock lock(queue_mutex_);
  return queue_.NextDue();
}

absl::StatusOr<size_t> WitnessLog::FlushDue(TimePoint now) {
  const MutexLock writer(writer_);
  const auto due = [this, now] {
    const MutexLock lock(queue_mutex_);
    return queue_.Due(now);
  };
  size_t taken = 0;
  while (taken < queue_capacity_ && due()) {
    ASSIGN_OR_RETURN(const size_t flushed, FlushBatch());
    taken += flushed;
  }
  return taken;
}

absl::Status WitnessLog::FlushAll() {
  const MutexLock writer(writer_);
  while (true) {
    ASSIGN_OR_RETURN(const size_t flushed, FlushBatch());
    if (flushed == 0) {
      return absl::OkStatus();
    }
  }
}

absl::StatusOr<size_t> WitnessLog::FlushBatch() {
  std::vector<WitnessEntry> entries;
  {
    const MutexLock lock(queue_mutex_);
    entries = queue_.Take();
  }
  if (entries.empty()) {
    return 0;
  }
  if (const absl::Status written = WriteEntries(entries); !written.ok()) {
    const MutexLock lock(queue_mutex_);
    queue_.PutBack(std::move(entries));
    return written;
  }
  return entries.size();
}

void WitnessLog::PutCount(uint64_t stored, Batch* batch) const {
  batch->Put(ColumnFamily::kWitness, witness::kCountKey, witness::EncodeCount(stored));
}

// Adds the row of an entry's embeddings, in the scope of its user. If the user cannot get a key,
// only the embeddings are lost, not the entry or the rest of the batch. Returns whether the row has
// embeddings.
absl::StatusOr<bool> WitnessLog::PutEmbeddings(const WitnessEntry& entry, const std::string& key,
                                               Batch* batch) {
  const KeyScope scope = entry.user_id.empty() ? KeyScope() : KeyScope::User(entry.user_id);
  const absl::Status keyed = entry.user_id.empty() ? absl::OkStatus() : database_.EnsureKey(scope);
  if (ReasonOf(keyed) == reasons::kLimitExceeded) {
    batch->Put(ColumnFamily::kWitness, key, witness::EncodeEmbeddings({}));
    return false;
  }
  RETURN_IF_ERROR(keyed);
  batch->Put(ColumnFamily::kWitness, key, witness::EncodeEmbeddings(entry), 0, scope);
  return true;
}

absl::Status WitnessLog::WriteEntries(const std::vector<WitnessEntry>& entries) {
  Batch batch;
  std::set<std::string_view> ids;
  uint64_t without_key = 0;
  for (const WitnessEntry& entry : entries) {
    const std::string id_key = witness::IdKey(entry.request_id);
    ASSIGN_OR_RETURN(const bool stored, database_.Contains(ColumnFamily::kWitness, id_key));
    if (stored || !ids.insert(entry.request_id).second) {
      continue;
    }
    const std::string key = witness::RecordKey(entry.timestamp_ms, entry.request_id);
    batch.Put(ColumnFamily::kWitness, key, witness::EncodeRecord(entry));
    ASSIGN_OR_RETURN(const bool whole, PutEmbeddings(entry, witness::EmbeddingsKey(key), &batch));
    without_key += whole ? 0 : 1;
    batch.Put(ColumnFamily::kWitness, id_key, key);
  }
  const uint64_t stored = counts().stored + ids.size();
  PutCount(stored, &batch);
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  const MutexLock lock(queue_mutex_);
  counts_.stored = stored;
  counts_.duplicates += entries.size() - ids.size();
  counts_.without_key += without_key;
  return absl::OkStatus();
}

absl::StatusOr<size_t> WitnessLog::EraseUser(std::string_view user_id,
                                             const std::function<absl::Status()>& erase) {
  const MutexLock writer(writer_);
  const absl::Status erased = erase();
  if (!erased.ok() && !absl::IsNotFound(erased)) {
    return erased;
  }
  // This comes after the erasure: entries queued meanwhile were said before it was complete.
  const MutexLock lock(queue_mutex_);
  const size_t forgotten = queue_.ForgetUser(user_id);
  return erased.ok() || forgotten > 0 ? absl::StatusOr<size_t>(forgotten) : erased;
}

absl::StatusOr<int64_t> WitnessLog::NewestMs() const {
  int64_t newest = 0;
  const auto take = [&newest](std::string_view key) -> absl::StatusOr<bool> {
    newest = std::max<int64_t>(0, witness::TimeOfRecordKey(key));
    return false;
  };
  RETURN_IF_ERROR(database_.ScanBackward(
      ColumnFamily::kWitness, witness::kRecordPrefix, EndOfPrefix(witness::kRecordPrefix),
      [&](const RowView& row) { return take(row.key); }, take));
  return newest;
}

absl::StatusOr<WitnessEntry> WitnessLog::GetStored(std::string_view request_id) const {
  if (request_id.size() > limits::kMaxResponseIdBytes) {
    return NoSuchEntry(request_id);
  }
  const absl::StatusOr<std::string> key =
      database_.Get(ColumnFamily::kWitness, witness::IdKey(request_id));
  if (absl::IsNotFound(key.status())) {
    return NoSuchEntry(request_id);
  }
  RETURN_IF_ERROR(key.status());
  ASSIGN_OR_RETURN(const std::string record, database_.Get(ColumnFamily::kWitness, *key));
  ASSIGN_OR_RETURN(WitnessEntry entry, witness::DecodeRecord(record));
  const absl::StatusOr<std::string> embeddings =
      database_.Get(ColumnFamily::kWitness, witness::EmbeddingsKey(*key));
  // The user was erased, the entry is expiring, or the embeddings are damaged. The entry is useful
  // without them.
  if (absl::IsNotFound(embeddings.status()) || absl::IsDataLoss(embeddings.status())) {
    return entry;
  }
  RETURN_IF_ERROR(embeddings.status());
  witness::DecodeEmbeddings(*embeddings, &entry).IgnoreError();
  return entry;
}

absl::StatusOr<WitnessEntry> WitnessLog::Get(std::string_view request_id) const {
  const MutexLock writer(writer_);  // no entry is between the queue and the disk while this is held
  {
    const MutexLock lock(queue_mutex_);
    if (const WitnessEntry* queued = queue_.Find(request_id)) {
      return *queued;
    }
  }
  return GetStored(request_id);
}

absl::Status WitnessLog::SetQuality(std::string_view request_id, float quality) {
  if (!(quality >= 0.0F && quality <= 1.0F)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "quality {} is not between 0 (bad) and 1 (good)", quality);
  }
  const MutexLock writer(writer_);
  {
    const MutexLock lock(queue_mutex_);
    if (WitnessEntry* queued = queue_.Find(request_id)) {
      queued->quality = quality;
      return absl::OkStatus();
    }
  }
  ASSIGN_OR_RETURN(WitnessEntry entry, GetStored(request_id));
  entry.quality = quality;
  Batch batch;
  batch.Put(ColumnFamily::kWitness, witness::RecordKey(entry.timestamp_ms, entry.request_id),
            witness::EncodeRecord(entry));
  return database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::StatusOr<WitnessExpired> WitnessLog::ExpireBatch(std::optional<int64_t> now_ms) {
  const MutexLock writer(writer_);
  const uint64_t stored = counts().stored;
  ASSIGN_OR_RETURN(const bool due, retention_.Begin(now_ms, stored));
  if (!due) {
    return WitnessExpired{};
  }
  RETURN_IF_ERROR(retention_.WriteFile());
  Batch batch;
  batch.MarkFreesSpace();
  ASSIGN_OR_RETURN(const WitnessRetention::Finished finished, retention_.Finish(now_ms, &batch));
  const uint64_t left = stored - std::min(stored, finished.entries);
  PutCount(left, &batch);
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  retention_.Done();
  const MutexLock lock(queue_mutex_);
  counts_.stored = left;
  counts_.expired += finished.entries;
  counts_.crowded_out += finished.crowded_out;
  counts_.undecodable += finished.undecodable;
  return WitnessExpired{.entries = finished.entries, .more = true};
}

WitnessLogCounts WitnessLog::counts() const {
  const MutexLock lock(queue_mutex_);
  WitnessLogCounts counts = counts_;
  counts.queued = queue_.size();
  counts.refused = queue_.refused();
  return counts;
}

}  // namespace ruvd::storage
