// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/witness/witness_entry.h"
#include "storage/witness/witness_query.h"
#include "storage/witness/witness_queue.h"
#include "storage/witness/witness_retention.h"

namespace ruvd::storage {

struct WitnessLogOptions {
  WitnessQueueOptions queue = {};
  WitnessRetentionOptions retention = {};
};

struct WitnessLogCounts {
  uint64_t stored = 0;  // entries on disk
  uint64_t queued = 0;  // entries not on disk yet
  // Since start:
  uint64_t refused = 0;      // the queue was full
  uint64_t unfit = 0;        // refused because the entry is invalid
  uint64_t duplicates = 0;   // refused because an entry of this request is stored already
  uint64_t without_key = 0;  // stored without embeddings: their users could not get a key
  uint64_t expired = 0;      // deleted or archived
  uint64_t crowded_out = 0;  // expired before their age, because the log was full
  uint64_t undecodable = 0;  // expired but in no archive, because their rows did not decode
};

struct WitnessExpired {
  uint64_t entries = 0;
  bool more = false;  // work is left: call again
};

// Records what every request did, through a queue that costs a request microseconds. A crash loses
// at most the entries of the last second; stored entries survive kill -9. Queries see only stored
// entries. Thread-safe; Append never waits for a disk.
class WitnessLog {
 public:
  // Opens the log. A damaged count is counted anew. A damaged note of a batch that was being
  // archived is dropped, and the batch is archived again. `database` must outlive the log.
  static absl::StatusOr<std::unique_ptr<WitnessLog>> Open(Database& database,
                                                          WitnessLogOptions options = {});

  // Queues an entry. Returns RESOURCE_EXHAUSTED (MAILBOX_FULL) when the queue is full, and
  // INVALID_ARGUMENT or LIMIT_EXCEEDED for an entry that cannot be stored; counts() counts both.
  // `now` is monotonic time.
  absl::Status Append(WitnessEntry entry, TimePoint now);

  // Writes batches while one is due, at most the capacity of the queue; returns how many entries it
  // took from the queue. The owner calls it at NextDue(). After an error of Database::Write the
  // entries stay queued.
  absl::StatusOr<size_t> FlushDue(TimePoint now);
  // Writes all queued entries.
  absl::Status FlushAll();
  std::optional<TimePoint> NextDue() const;

  // Runs `erase`, which destroys a user's keys, while no entry is being written, and removes the
  // embeddings from the user's queued entries, so that they are never written with a new key.
  // Returns the number of those entries, or the error of `erase`; NOT_FOUND is ignored when such
  // entries were queued.
  absl::StatusOr<size_t> EraseUser(std::string_view user_id,
                                   const std::function<absl::Status()>& erase);

  // Returns the end of the newest stored entry, UTC, or 0 when the log is empty.
  absl::StatusOr<int64_t> NewestMs() const;

  // Returns the whole entry of a request, stored or queued, or NOT_FOUND.
  absl::StatusOr<WitnessEntry> Get(std::string_view request_id) const;
  // Sets the quality of a request, 0 to 1. Returns NOT_FOUND or INVALID_ARGUMENT on failure.
  absl::Status SetQuality(std::string_view request_id, float quality);

  // Query and Stats return INVALID_ARGUMENT (see CheckQuery) or CANCELLED. Rows that do not open or
  // decode are skipped and counted: one of them must not hide all others.
  absl::StatusOr<WitnessPage> Query(const WitnessQuery& query) const;
  // Returns INVALID_ARGUMENT for a negative interval.
  absl::StatusOr<WitnessStats> Stats(const WitnessStatsQuery& query) const;

  // Removes one batch of entries that are older than the retention at `now_ms` (UTC) or above the
  // capacity, into an archive if there is a folder for archives. Without a time, while the clock
  // cannot be trusted, it removes only entries above the capacity. The work is bounded. After an
  // error the next call continues the batch. It works below the soft disk reserve.
  absl::StatusOr<WitnessExpired> ExpireBatch(std::optional<int64_t> now_ms);

  WitnessLogCounts counts() const;

 private:
  WitnessLog(Database& database, const WitnessLogOptions& options, WitnessRetention retention)
      : database_(database),
        retention_(std::move(retention)),
        queue_capacity_(options.queue.capacity),
        queue_(options.queue) {}

  absl::StatusOr<size_t> FlushBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_);
  absl::Status WriteEntries(const std::vector<WitnessEntry>& entries)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_);
  absl::StatusOr<bool> PutEmbeddings(const WitnessEntry& entry, const std::string& key,
                                     Batch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer_);
  void PutCount(uint64_t stored, Batch* batch) const;
  absl::StatusOr<WitnessEntry> GetStored(std::string_view request_id) const;
  absl::StatusOr<WitnessPage> QueryByTime(const WitnessQuery& query) const;
  absl::StatusOr<WitnessPage> QueryBySimilarity(const WitnessQuery& query) const;
  // Returns the entry with its similarity, or nullopt when it does not match the query. Embeds
  // the first entries that have no embedding and counts in `late` those for which that was
  // possible; limits::kMaxLateEmbeddings + 1 means that more were left.
  absl::StatusOr<std::optional<WitnessHit>> Compare(const WitnessQuery& query,
                                                    std::string_view record_key, WitnessEntry entry,
                                                    size_t* late) const;

  Database& database_;
  // Taken before queue_mutex_; held while rows are written.
  mutable Mutex writer_;
  WitnessRetention retention_ ABSL_GUARDED_BY(writer_);
  const size_t queue_capacity_;
  mutable Mutex queue_mutex_;
  WitnessQueue queue_ ABSL_GUARDED_BY(queue_mutex_);
  WitnessLogCounts counts_ ABSL_GUARDED_BY(queue_mutex_);
};

}  // namespace ruvd::storage
