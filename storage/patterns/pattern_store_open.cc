// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// PatternStore::Open: binding to a model, and the state in memory from the rows.

#include <algorithm>
#include <functional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/patterns/pattern_store.h"
#include "storage/patterns/vector_reader.h"

namespace ruvd {
namespace {

absl::Status Corrupt(std::string_view what, uint32_t slot) {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "pattern slot {} {}; restore the store from a backup", slot, what);
}

absl::Status CheckOptions(const PatternStoreOptions& options) {
  if (options.capacity == 0 || options.capacity > limits::kMaxPatterns ||
      options.half_life.count() <= 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "pattern store for {} patterns with a half-life of {} ms; use 1 to {} and a time",
                 options.capacity, options.half_life.count(), limits::kMaxPatterns);
  }
  if (options.tombstone_retention.count() < 0 || options.checkpoint_changes == 0 ||
      options.checkpoint_interval.count() <= 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "pattern store that keeps tombstones for {} ms and saves its graph after {} "
                 "changes or {} ms; use times that are not negative and at least one change",
                 options.tombstone_retention.count(), options.checkpoint_changes,
                 options.checkpoint_interval.count());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PatternStore>> PatternStore::Open(
    Database& database, const PatternStoreOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(std::unique_ptr<HnswIndex> index,
                   // Searches read the rows of their hits anyway and order them by these.
                   HnswIndex::Create({.dimension = options.dimension,
                                      .m = options.m,
                                      .ef_construction = options.ef_construction,
                                      .rescore = HnswRescore::kCodes}));
  std::unique_ptr<PatternStore> store(new PatternStore(database, options, std::move(index)));
  RETURN_IF_ERROR(store->Bind());
  patterns::VectorReader vectors(database, store->collection_, options.dimension);
  RETURN_IF_ERROR(vectors.Start());  // reads beside what follows
  RETURN_IF_ERROR(store->LoadSlots());
  RETURN_IF_ERROR(store->LoadVectors(&vectors));
  RETURN_IF_ERROR(store->LoadSequence());
  store->RestoreGraph();
  return store;
}

absl::Status PatternStore::Bind() {
  std::optional<uint32_t> found;
  uint32_t next = 0;
  const auto look = [&](const RowView& row) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const patterns::CollectionRow collection,
                     patterns::DecodeCollectionRow(row.value));
    const std::optional<uint32_t> number = ReadKeyU32(row.key, patterns::kCollectionKeys.size());
    if (!number || *number != next) {
      return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                   "collection {} of the store is missing; restore it from a backup", next);
    }
    if (collection.model_hash == options_.model_hash &&
        collection.dimension == options_.dimension) {
      found = *number;
    }
    ++next;
    return !found.has_value();
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kDefault, patterns::kCollectionKeys,
                                 EndOfPrefix(patterns::kCollectionKeys), look));
  collection_ = found.value_or(next);
  if (found) {
    return absl::OkStatus();
  }
  if (next >= limits::kMaxCollections) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the store in {} has patterns of {} models, the most it may have; choose another "
                 "data folder for a new model",
                 database_.path(), next);
  }
  Batch batch;
  batch.Put(ColumnFamily::kDefault, patterns::CollectionKey(collection_),
            patterns::EncodeCollectionRow({.dimension = options_.dimension,
                                           .model_hash = options_.model_hash,
                                           .m = options_.m,
                                           .ef_construction = options_.ef_construction,
                                           .created_ms = database_.clock().WallMillis()}));
  return database_.Write(std::move(batch), Durability::kPowerLoss);
}

absl::Status PatternStore::LoadSlots() {
  const std::string prefix = patterns::CollectionPrefix(collection_);
  const auto load = [this](const RowView& row) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const uint32_t slot, patterns::SlotOfKey(row.key));
    ASSIGN_OR_RETURN(const patterns::SlotRow decoded, patterns::DecodeSlotRow(row.value));
    if (decoded.generation != row.generation) {
      return Corrupt("disagrees with its generation", slot);
    }
    if (decoded.live && !slots_.HasRoomForTask(decoded.task)) {
      return Corrupt("has one task too many", slot);
    }
    slots_.Load(slot, decoded);
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kSlot, prefix, EndOfPrefix(prefix), load));
  slots_.Loaded();
  return absl::OkStatus();
}

absl::Status PatternStore::LoadVectors(patterns::VectorReader* vectors) {
  RETURN_IF_ERROR(vectors->ForEach([this](const patterns::VectorReader::Row& row) -> absl::Status {
    if (!slots_.Holds(row.slot, row.generation)) {
      return Corrupt("has an embedding that is not its own", row.slot);
    }
    return index_->Put({.label = row.slot,
                        .generation = row.generation,
                        .vector = row.embedding,
                        .attributes = slots_.AttributesOf(row.slot)});
  }));
  const size_t indexed = index_->Counts().live;
  if (indexed != slots_.live()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the store has {} patterns but {} embeddings; restore it from a backup",
                 slots_.live(), indexed);
  }
  return absl::OkStatus();
}

// The log has the last stamp: later ones are later, whatever the wall clock says now.
absl::Status PatternStore::LoadSequence() {
  const auto take = [this](const RowView& row) -> absl::StatusOr<bool> {
    next_sequence_ = ReadKeyU64(row.key, 0).value_or(0) + 1;
    ASSIGN_OR_RETURN(const patterns::OplogRow last, patterns::DecodeOplogRow(row.value));
    clock_.Observe(last.time);
    return false;
  };
  RETURN_IF_ERROR(database_.ScanBackward(ColumnFamily::kOplog, "", "", take));
  acknowledged_ = next_sequence_ - 1;
  return absl::OkStatus();
}

void PatternStore::RestoreGraph() {
  const MutexLock lock(maintenance_);
  checkpoint_ = std::make_unique<patterns::GraphCheckpoint>(database_, collection_);
  checkpoint_tried_at_ = database_.clock().Now();
  const patterns::GraphRestore result = checkpoint_->Restore(index_.get());
  NoteCheckpoint(result.problem);
  checkpoint_stats_.restored = result.restored;
}

}  // namespace ruvd
