// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// PatternStore::Open: this file binds a store to a model and builds its state in memory from the
// rows.

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/patterns/pattern_store.h"
#include "storage/patterns/vector_reader.h"

namespace ruvd::storage {
namespace {

absl::Status CheckOptions(const PatternStoreOptions& options) {
  if (options.capacity == 0 || options.capacity > limits::kMaxPatterns ||
      options.half_life.count() <= 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the pattern store cannot have a capacity of {} and a half-life of {} ms; use 1 "
                 "to {} patterns and a time above 0",
                 options.capacity, options.half_life.count(), limits::kMaxPatterns);
  }
  if (options.tombstone_retention.count() < 0 || options.checkpoint_changes == 0 ||
      options.checkpoint_interval.count() <= 0) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "the pattern store cannot keep tombstones for {} ms and save its graph after {} "
        "changes or {} ms; use a retention of 0 or more, at least one change and a time above 0",
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
                   // Searches read the rows of their hits anyway and order the hits by these.
                   HnswIndex::Create({.dimension = options.dimension,
                                      .m = options.m,
                                      .ef_construction = options.ef_construction,
                                      .rescore = HnswRescore::kCodes}));
  std::unique_ptr<PatternStore> store(new PatternStore(database, options, std::move(index)));
  RETURN_IF_ERROR(store->Bind());
  patterns::VectorReader vectors(database, store->collection_, options.dimension);
  RETURN_IF_ERROR(vectors.Start());        // it reads while the next steps run
  RETURN_IF_ERROR(store->LoadSequence());  // sets the clock, which LoadSlots needs
  RETURN_IF_ERROR(store->LoadSlots());
  RETURN_IF_ERROR(store->LoadVectors(&vectors));
  store->RestoreGraph();
  return store;
}

absl::Status PatternStore::Bind() {
  std::optional<uint32_t> found;
  std::optional<uint32_t> damaged;
  uint32_t next = 0;
  const auto count = [&](std::string_view key) -> absl::Status {
    const std::optional<uint32_t> number = ReadKeyU32(key, patterns::kCollectionKeys.size());
    if (!number || *number != next) {
      return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                   "collection {} of the store is missing; restore it from a backup", next);
    }
    ++next;
    return absl::OkStatus();
  };
  const auto pass = [&](std::string_view key) -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(count(key));
    damaged = next - 1;
    return true;
  };
  const auto look = [&](const RowView& row) -> absl::StatusOr<bool> {
    const auto collection = patterns::DecodeCollectionRow(row.value);
    if (!collection.ok()) {
      return pass(row.key);
    }
    RETURN_IF_ERROR(count(row.key));
    if (collection->model_hash == options_.model_hash &&
        collection->dimension == options_.dimension) {
      found = next - 1;
    }
    return !found.has_value();
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kDefault, patterns::kCollectionKeys,
                                 EndOfPrefix(patterns::kCollectionKeys), look, pass));
  if (!found && damaged) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the row of collection {} cannot be read, so it may belong to this model; restore "
                 "the store from a backup",
                 *damaged);
  }
  collection_ = found.value_or(next);
  if (found) {
    return absl::OkStatus();
  }
  if (next >= limits::kMaxCollections) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the store in {} has patterns of {} models, which is the limit; choose another "
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
  const int64_t now = clock_.WallMillis();
  std::set<uint32_t> lost;
  const auto lose = [&](std::string_view key) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const uint32_t slot, patterns::SlotOfKey(key));
    lost.insert(slot);
    return true;
  };
  const auto load = [&](const RowView& row) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const uint32_t slot, patterns::SlotOfKey(row.key));
    auto decoded = patterns::DecodeSlotRow(row.value);
    if (!decoded.ok() || decoded->generation != row.generation ||
        (decoded->live && (!slots_.HasRoomForTask(decoded->task) || slots_.Find(decoded->id)))) {
      return lose(row.key);
    }
    // it may come from a clock that was ahead
    decoded->touched_ms = std::min(decoded->touched_ms, now);
    slots_.Load(slot, *decoded);
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kSlot, prefix, EndOfPrefix(prefix), load, lose));
  bool free = false;
  if (!lost.empty()) {
    ASSIGN_OR_RETURN(free, LoadLostSlots(std::move(lost)));
  }
  slots_.Loaded();
  if (free) {
    FreeWithheld();
  }
  return absl::OkStatus();
}

// Restores slots whose rows are damaged from the meta rows of their patterns, which have the same
// facts. A slot that no meta row names may hold a pattern whose meta row is damaged too: its number
// is not reused until such patterns are deleted or stored anew. Returns true when slots are
// withheld but there are no such patterns: the withheld slots were free then.
absl::StatusOr<bool> PatternStore::LoadLostSlots(std::set<uint32_t> lost) {
  const std::string prefix = patterns::CollectionPrefix(collection_);
  const auto id_of = [&](std::string_view key) {
    PatternId id{};
    if (key.size() == prefix.size() + id.size()) {
      std::copy_n(key.begin() + static_cast<ptrdiff_t>(prefix.size()), id.size(), id.begin());
    }
    return id;
  };
  const auto lose = [&](std::string_view key) -> absl::StatusOr<bool> {
    const PatternId id = id_of(key);
    if (!slots_.Find(id)) {
      lost_.insert(id);
    }
    return true;
  };
  const auto load = [&](const RowView& row) -> absl::StatusOr<bool> {
    const PatternId id = id_of(row.key);
    const auto meta = patterns::DecodeMetaRow(row.value, id);
    if (!meta.ok() || meta->generation != row.generation) {
      return lose(row.key);
    }
    if (!meta->tombstone && !slots_.Find(id) && lost.contains(meta->slot)) {
      if (!slots_.HasRoomForTask(meta->pattern.task)) {
        return lose(row.key);
      }
      lost.erase(meta->slot);
      slots_.Load(meta->slot, SlotRowOf(meta->pattern, meta->generation));
    }
    return !lost.empty();
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kMeta, prefix, EndOfPrefix(prefix), load, lose));
  for (const uint32_t slot : lost) {
    slots_.Withhold(slot);
  }
  if (lost.empty()) {
    lost_.clear();  // these were damaged tombstones
  }
  return lost_.empty() && !lost.empty();
}

// If the write fails, for example on a full disk, the slots stay withheld until the next start.
void PatternStore::FreeWithheld() {
  Batch batch;
  EmptyWithheld(&batch);
  if (const absl::Status freed = database_.Write(std::move(batch), Durability::kProcessCrash);
      freed.ok()) {
    slots_.ReleaseWithheld(patterns::kGenerationAfterLoss);
  }
}

absl::Status PatternStore::LoadVectors(patterns::VectorReader* vectors) {
  std::vector<bool> seen(slots_.size());
  RETURN_IF_ERROR(vectors->ForEach([&](const patterns::VectorReader::Row& row) -> absl::Status {
    if (slots_.Holds(row.slot, row.generation)) {
      // This fails when memory is short or the embedding is invalid: Stats counts both.
      seen[row.slot] = true;
      index_
          ->Put({.label = row.slot,
                 .generation = row.generation,
                 .vector = row.embedding,
                 .attributes = slots_.AttributesOf(row.slot)})
          .IgnoreError();
    }
    return absl::OkStatus();
  }));
  for (uint32_t slot = 0; slot < seen.size(); ++slot) {
    if (slots_.at(slot).live && !seen[slot]) {
      slots_.MarkDamaged(slot);
    }
  }
  return absl::OkStatus();
}

// The log has the last stamp, and later stamps must be later, whatever the wall clock says now. If
// its last row is damaged, the row's number still counts, and the stamp is that of the row before.
absl::Status PatternStore::LoadSequence() {
  const auto pass = [this](std::string_view key) -> absl::StatusOr<bool> {
    next_sequence_ = std::max(next_sequence_, ReadKeyU64(key, 0).value_or(0) + 1);
    return true;
  };
  const auto take = [&](const RowView& row) -> absl::StatusOr<bool> {
    const auto last = patterns::DecodeOplogRow(row.value);
    RETURN_IF_ERROR(pass(row.key).status());
    if (last.ok()) {
      clock_.Observe(last->time);
    }
    return !last.ok();
  };
  RETURN_IF_ERROR(database_.ScanBackward(ColumnFamily::kOplog, "", "", take, pass));
  acknowledged_ = next_sequence_ - 1;
  return absl::OkStatus();
}

void PatternStore::RestoreGraph() {
  const MutexLock lock(maintenance_);
  checkpoint_ = std::make_unique<patterns::GraphCheckpoint>(database_, collection_);
  checkpoint_tried_at_ = database_.clock().Now();
  const patterns::GraphRestore result = checkpoint_->Restore(index_.get());
  RecordCheckpointProblem(result.problem);
  checkpoint_stats_.restored = result.restored;
}

}  // namespace ruvd::storage
