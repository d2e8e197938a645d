// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/db/database.h"
#include "storage/hnsw/checkpoint.h"
#include "storage/hnsw/hnsw_index.h"
#include "storage/patterns/pattern_rows.h"

namespace ruvd::storage::patterns {

// What a start made of the checkpoint it found.
struct GraphRestore {
  bool found = false;     // there was one
  bool restored = false;  // and it was good
  std::string problem;    // why it was not
  HnswRestored counts;
};

// The checkpoint of a collection's graph in the family `graph`: chunks under an epoch of their own,
// which one batch puts in force together with the removal of the epoch before. Derived data: a
// checkpoint that is missing, torn or damaged costs time, never rows. Not thread-safe.
class GraphCheckpoint {
 public:
  // `database` outlives this.
  GraphCheckpoint(Database& database, uint32_t collection)
      : database_(database), collection_(collection) {}

  // Gives an index that holds its rows, none of them linked, the graph of the checkpoint in force.
  // A checkpoint that cannot be used is no error but a problem of the answer; the index is then as
  // it was.
  GraphRestore Restore(HnswIndex* index);

  // Writes the graph as it is, while its writer goes on, and puts it in force. After an error, or
  // killed at any moment, the checkpoint of before is in force. DISK_FULL and the other errors of
  // Database::Write.
  absl::Status Save(const HnswIndex& index);

  // The checkpoint in force; epoch 0: none.
  const CheckpointRow& row() const { return row_; }

 private:
  absl::Status Load();
  absl::Status ReadChunks(HnswCheckpointReader* reader) const;
  absl::Status Begin(uint64_t epoch);
  // Writes the chunks; counts them in `row`.
  absl::Status WriteChunks(const HnswIndex& index, uint64_t epoch, CheckpointRow* row);
  absl::Status Flip(const CheckpointRow& row);

  Database& database_;
  const uint32_t collection_;
  CheckpointRow row_;
};

}  // namespace ruvd::storage::patterns
