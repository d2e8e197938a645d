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

// The result of restoring the checkpoint at start.
struct GraphRestore {
  bool found = false;     // a checkpoint exists
  bool restored = false;  // the checkpoint was valid and is restored
  std::string problem;    // why it was not restored
  HnswRestored counts;
};

// The checkpoint of a collection's graph in the family `graph`: chunks under an epoch of their own.
// One batch puts the epoch into use and removes the epoch before. It is derived data: a checkpoint
// that is missing, incomplete or damaged costs time, never rows. Not thread-safe.
class GraphCheckpoint {
 public:
  // `database` must outlive this object.
  GraphCheckpoint(Database& database, uint32_t collection)
      : database_(database), collection_(collection) {}

  // Gives the graph of the current checkpoint to an index that holds its rows and has linked none
  // of them. A checkpoint that cannot be used is not an error: the result then has a problem, and
  // the index is unchanged.
  GraphRestore Restore(HnswIndex* index);

  // Writes the graph as it is, while the index's writer continues, and makes it the current
  // checkpoint. After an error, or a kill at any moment, the former checkpoint is still current.
  // Returns DISK_FULL or another error of Database::Write.
  absl::Status Save(const HnswIndex& index);

  // Returns the row of the current checkpoint; epoch 0: there is no checkpoint.
  const CheckpointRow& row() const { return row_; }

 private:
  absl::Status Load();
  absl::Status ReadChunks(HnswCheckpointReader* reader) const;
  absl::Status Begin(uint64_t epoch);
  // Writes the chunks and counts them in `row`.
  absl::Status WriteChunks(const HnswIndex& index, uint64_t epoch, CheckpointRow* row);
  absl::Status Activate(const CheckpointRow& row);

  Database& database_;
  const uint32_t collection_;
  CheckpointRow row_;
};

}  // namespace ruvd::storage::patterns
