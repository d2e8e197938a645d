// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"
#include "storage/db/database.h"
#include "storage/limits.h"
#include "storage/witness/witness_entry.h"
#include "storage/witness/witness_rows.h"

namespace ruvd::storage {

struct WitnessRetentionOptions {
  std::chrono::milliseconds retention = limits::kWitnessRetention;
  size_t capacity = limits::kMaxWitnessEntries;
  // The existing folder for archive files of expired entries, sealed with `archive_key`. Empty:
  // expired entries are deleted.
  std::string archive_folder = {};
  std::optional<privacy::SealKey> archive_key = {};
  size_t batch = limits::kWitnessExpiryBatch;
};

// Moves the oldest entries out of the witness log, a batch at a time, in three stages that each
// survive a crash: Begin fsyncs the range of records, WriteFile writes them to a fsynced archive,
// Finish deletes exactly the records in the archive. A batch that a crash interrupted is completed
// before another begins; if its file is complete, it is not written again. So no entry is lost or
// archived twice. Not thread-safe: WitnessLog keeps other writers out.
class WitnessRetention {
 public:
  // Opens the state of the retention. A damaged note of a batch under way is dropped: its records
  // all still exist and are moved again, into another archive. `database` must outlive it.
  static absl::StatusOr<WitnessRetention> Open(Database& database, WitnessRetentionOptions options);

  // Returns whether a batch is due at `now_ms` or under way, given the number of stored entries.
  // Without a time, while the clock cannot be trusted, only entries above the capacity are due.
  absl::StatusOr<bool> Begin(std::optional<int64_t> now_ms, uint64_t stored);
  // Must be called after Begin returned true. After FILE_UNWRITABLE or DISK_FULL the batch stays
  // under way.
  absl::Status WriteFile();
  struct Finished {
    uint64_t entries = 0;
    uint64_t crowded_out = 0;  // younger than the retention at `now_ms`; 0 without a time
    uint64_t undecodable = 0;  // no archive could take them
  };
  // Must be called after WriteFile. Adds the deletions to `batch`. Once the batch is written, call
  // Done.
  absl::StatusOr<Finished> Finish(std::optional<int64_t> now_ms, Batch* batch);
  void Done() {
    pending_.reset();
    archived_.clear();
    undecodable_.clear();
  }
  bool archives() const { return !options_.archive_folder.empty(); }

 private:
  WitnessRetention(Database& database, WitnessRetentionOptions options)
      : database_(&database), options_(std::move(options)) {}
  std::string PathOf(const witness::Expiry& expiry) const {
    return options_.archive_folder + "/" + expiry.file;
  }
  // Fills archived_ from the file if it exists and is complete.
  bool ReadExistingFile();
  // Returns the entry of a record with its embeddings, as far as they decode.
  absl::StatusOr<WitnessEntry> ReadEntry(const RowView& row) const;
  absl::Status FindUndecodable();
  // Returns the time before which entries are too old.
  int64_t Cutoff(std::optional<int64_t> now_ms) const;

  Database* database_;
  WitnessRetentionOptions options_;
  std::optional<witness::Expiry> pending_;
  using Keys = std::set<std::string, std::less<>>;
  Keys archived_;  // keys of the records in the pending file
  // The keys of records that no file can take, because they do not open or decode. They are deleted
  // with the others and counted.
  Keys undecodable_;
};

}  // namespace ruvd::storage
