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
  uint64_t stored = 0;  // on disk
  uint64_t queued = 0;  // not yet
  // Since start:
  uint64_t refused = 0;      // the queue was full
  uint64_t unfit = 0;        // refused because they cannot be stored as they are
  uint64_t duplicates = 0;   // of a request that is stored already
  uint64_t without_key = 0;  // stored without embeddings: their users could not get a key
  uint64_t expired = 0;      // deleted or archived
  uint64_t crowded_out = 0;  // those of them that left before their age: the log was full
  uint64_t undecodable = 0;  // those of them that no archive could take: their rows did not decode
};

struct WitnessExpired {
  uint64_t entries = 0;
  bool more = false;  // call again
};

// What every request did, behind a queue that costs a request microseconds. A crash takes the
// entries of the last second at most; what is stored survives kill -9. Queries see stored entries
// only. Thread-safe; Append never waits for a disk.
class WitnessLog {
 public:
  // A damaged count is counted anew, and a damaged note of a batch on its way into an archive is
  // dropped: the batch is archived again. `database` outlives the log.
  static absl::StatusOr<std::unique_ptr<WitnessLog>> Open(Database& database,
                                                          WitnessLogOptions options = {});

  // Queues an entry. RESOURCE_EXHAUSTED (MAILBOX_FULL) where the queue is full, INVALID_ARGUMENT,
  // LIMIT_EXCEEDED for an entry that cannot be stored; both are counted. `now` is monotonic time.
  absl::Status Append(WitnessEntry entry, TimePoint now);

  // Writes batches while one is due, at most what the queue may hold; returns how many entries it
  // took off the queue. The owner calls it when NextDue says so. Errors of Database::Write leave
  // the entries queued.
  absl::StatusOr<size_t> FlushDue(TimePoint now);
  // Writes everything that is queued.
  absl::Status FlushAll();
  std::optional<TimePoint> NextDue() const;

  // Runs `erase`, which destroys a user's keys, while no entry is written, and takes the embeddings
  // out of what waits of the user, so that they are never written with a new key. Says of how many;
  // the error of `erase`, but not NOT_FOUND where something waited.
  absl::StatusOr<size_t> EraseUser(std::string_view user_id,
                                   const std::function<absl::Status()>& erase);

  // When the newest stored entry ended, UTC; 0 where there is none.
  absl::StatusOr<int64_t> NewestMs() const;

  // The whole entry of a request, queued ones included. NOT_FOUND.
  absl::StatusOr<WitnessEntry> Get(std::string_view request_id) const;
  // Notes the quality of a request, 0 to 1. NOT_FOUND, INVALID_ARGUMENT.
  absl::Status SetQuality(std::string_view request_id, float quality);

  // INVALID_ARGUMENT, see CheckQuery; CANCELLED, here and below. Rows that do not open or decode
  // are passed over and counted: one of them must not hide all others.
  absl::StatusOr<WitnessPage> Query(const WitnessQuery& query) const;
  // INVALID_ARGUMENT for a negative interval.
  absl::StatusOr<WitnessStats> Stats(const WitnessStatsQuery& query) const;

  // Takes one batch of entries out that are older than the retention at `now_ms` (UTC) or too many:
  // into an archive, where there is a folder for them, and out of the store. Without a time, while
  // the clock cannot be trusted, only those that are too many. Bounded work. After an error the
  // next call takes the batch up again. Works below the soft disk reserve.
  absl::StatusOr<WitnessExpired> ExpireSome(std::optional<int64_t> now_ms);

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
  // The entry with its similarity; nullopt where the query does not mean it.
  absl::StatusOr<std::optional<WitnessHit>> Compare(const WitnessQuery& query,
                                                    std::string_view record_key,
                                                    WitnessEntry entry) const;

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
