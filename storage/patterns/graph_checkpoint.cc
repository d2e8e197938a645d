// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/graph_checkpoint.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"

namespace ruvd::storage::patterns {
namespace {

// Batches have about a megabyte: large enough for the log, small enough to be sealed quickly.
constexpr size_t kChunksOfABatch = 64;
constexpr size_t kSectionAt = sizeof(uint32_t) + sizeof(uint64_t);
constexpr size_t kChunkAt = kSectionAt + sizeof(uint8_t);

absl::Status Damaged(std::string_view what) {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "the checkpoint of the pattern graph {}; the graph is linked anew", what);
}

}  // namespace

absl::Status GraphCheckpoint::Load() {
  row_ = {};
  const absl::StatusOr<std::string> stored =
      database_.Get(ColumnFamily::kDefault, CheckpointKey(collection_));
  if (absl::IsNotFound(stored.status())) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(stored.status());
  ASSIGN_OR_RETURN(row_, DecodeCheckpointRow(*stored));
  if (row_.epoch == std::numeric_limits<uint64_t>::max() ||
      row_.building == std::numeric_limits<uint64_t>::max()) {
    row_ = {};
    return Damaged("has an impossible epoch");
  }
  return absl::OkStatus();
}

absl::Status GraphCheckpoint::ReadChunks(HnswCheckpointReader* reader) const {
  return database_.Scan(
      ColumnFamily::kGraph, EpochKey(collection_, row_.epoch),
      EpochKey(collection_, row_.epoch + 1), [&](const RowView& row) -> absl::StatusOr<bool> {
        const std::optional<uint64_t> section = ReadKeyInteger(row.key, kSectionAt, 1);
        const std::optional<uint32_t> chunk = ReadKeyU32(row.key, kChunkAt);
        if (!chunk) {
          return Damaged("has a row that is not a chunk");
        }
        RETURN_IF_ERROR(reader->Add(static_cast<uint8_t>(*section), *chunk, row.value));
        return true;
      });
}

GraphRestore GraphCheckpoint::Restore(HnswIndex* index) {
  GraphRestore result;
  absl::Status status = Load();
  result.found = !status.ok() || row_.epoch != 0;
  if (status.ok() && result.found) {
    HnswCheckpointReader reader(*index, collection_, row_.epoch);
    status = ReadChunks(&reader);
    if (status.ok()) {
      absl::StatusOr<HnswRestored> restored = reader.Finish();
      status = restored.status();
      result.restored = restored.ok();
      result.counts = restored.value_or(HnswRestored{});
    }
  }
  result.problem = MessageOf(status);
  return result;
}

// Other epochs are remains of a checkpoint that was not completed or whose row is lost. They are
// deleted, so that an epoch is never written over old chunks.
absl::Status GraphCheckpoint::Begin(uint64_t epoch) {
  CheckpointRow begun = row_;
  begun.building = epoch;
  const std::string first = EpochKey(collection_, 0);
  const std::string end = EndOfPrefix(CollectionPrefix(collection_));
  Batch batch;
  if (row_.epoch != 0) {
    batch.DeleteRange(ColumnFamily::kGraph, first, EpochKey(collection_, row_.epoch));
    batch.DeleteRange(ColumnFamily::kGraph, EpochKey(collection_, row_.epoch + 1), end);
  } else {
    batch.DeleteRange(ColumnFamily::kGraph, first, end);
  }
  batch.Put(ColumnFamily::kDefault, CheckpointKey(collection_), EncodeCheckpointRow(begun));
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  row_.building = epoch;
  return absl::OkStatus();
}

absl::Status GraphCheckpoint::WriteChunks(const HnswIndex& index, uint64_t epoch,
                                          CheckpointRow* row) {
  HnswCheckpointWriter writer(index, collection_, epoch);
  Batch batch;
  for (std::optional<HnswChunk> chunk = writer.Next(); chunk; chunk = writer.Next()) {
    batch.Put(ColumnFamily::kGraph, ChunkKey(collection_, epoch, chunk->section, chunk->chunk),
              chunk->bytes, 0, KeyScope::Collection(collection_));
    ++row->chunks;
    row->bytes += chunk->bytes.size();
    if (row->chunks % kChunksOfABatch == 0) {
      RETURN_IF_ERROR(database_.Write(std::exchange(batch, Batch()), Durability::kProcessCrash));
    }
  }
  return batch.empty() ? absl::OkStatus()
                       : database_.Write(std::move(batch), Durability::kProcessCrash);
}

// The log keeps the order of batches, so an open that sees this batch sees the chunks too.
absl::Status GraphCheckpoint::Activate(const CheckpointRow& row) {
  Batch batch;
  batch.Put(ColumnFamily::kDefault, CheckpointKey(collection_), EncodeCheckpointRow(row));
  batch.DeleteRange(ColumnFamily::kGraph, EpochKey(collection_, 0),
                    EpochKey(collection_, row.epoch));
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  row_ = row;
  return absl::OkStatus();
}

absl::Status GraphCheckpoint::Save(const HnswIndex& index) {
  const uint64_t epoch = std::max(row_.epoch, row_.building) + 1;
  RETURN_IF_ERROR(Begin(epoch));
  const HnswCounts counts = index.Counts();
  CheckpointRow row{.epoch = epoch,
                    .rows = counts.live - std::min(counts.live, counts.pending),
                    .created_ms = database_.clock().WallMillis(),
                    .m = index.options().m};
  RETURN_IF_ERROR(WriteChunks(index, epoch, &row));
  return Activate(row);
}

}  // namespace ruvd::storage::patterns
