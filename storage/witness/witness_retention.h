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
  // Where expired entries go as files, sealed with `archive_key`; it exists. Empty: they are
  // deleted.
  std::string archive_folder = {};
  std::optional<privacy::SealKey> archive_key = {};
  size_t batch = limits::kWitnessExpiryBatch;
};

// Moves the oldest entries out of the witness log, a batch at a time, in three stages that each
// survive a crash: Begin fsyncs which records are meant, WriteFile makes them a fsynced archive,
// Finish deletes exactly what the archive holds. A batch that a crash interrupted is taken up
// again before another begins; its file, where it is whole, is not written again. So no entry is
// lost and none is archived twice. Not thread-safe: WitnessLog lets no writer in between.
class WitnessRetention {
 public:
  // A note of a batch under way that is damaged is dropped: its records are all there, and leave
  // once more, into another archive. `database` outlives it.
  static absl::StatusOr<WitnessRetention> Open(Database& database, WitnessRetentionOptions options);

  // Whether a batch is due at `now_ms`, or one is under way, given how many entries are stored.
  // Without a time, of a clock that cannot be trusted, only what is above the capacity is due.
  absl::StatusOr<bool> Begin(std::optional<int64_t> now_ms, uint64_t stored);
  // After Begin returned true. FILE_UNWRITABLE, DISK_FULL: the batch stays under way.
  absl::Status WriteFile();
  struct Finished {
    uint64_t entries = 0;
    uint64_t crowded_out = 0;  // younger than the retention at `now_ms`; 0 without a time
    uint64_t undecodable = 0;  // no archive could take them
  };
  // After WriteFile. Adds the deletions to `batch`. Once the batch is written, call Done.
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
  // Fills archived_ from the file, where it is there and whole.
  bool ReadExistingFile();
  // The entry of a record with its embeddings, as far as they decode.
  absl::StatusOr<WitnessEntry> ReadEntry(const RowView& row) const;
  absl::Status FindUndecodable();
  // Before this time entries are too old.
  int64_t Cutoff(std::optional<int64_t> now_ms) const;

  Database* database_;
  WitnessRetentionOptions options_;
  std::optional<witness::Expiry> pending_;
  using Keys = std::set<std::string, std::less<>>;
  Keys archived_;  // of the records in the pending file
  // Of those that no file can take, since they do not open or decode: they leave with the others,
  // counted.
  Keys undecodable_;
};

}  // namespace ruvd::storage
