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

namespace ruvd {
namespace {

absl::Status Corrupt(std::string_view what, uint32_t slot) {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "pattern slot {} {}; restore the store from a backup", slot, what);
}

// A slot row's key, checked; slots are dense, so a number beyond the limit is damage.
absl::StatusOr<uint32_t> SlotOfKey(std::string_view key) {
  const std::optional<uint32_t> slot = ReadKeyU32(key, sizeof(uint32_t));
  if (!slot || key.size() != 2 * sizeof(uint32_t) || *slot >= limits::kMaxPatterns) {
    return Corrupt("has a bad key", slot.value_or(0));
  }
  return *slot;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PatternStore>> PatternStore::Open(
    Database& database, const PatternStoreOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<HnswIndex> index,
                   HnswIndex::Create({.dimension = options.dimension,
                                      .m = options.m,
                                      .ef_construction = options.ef_construction}));
  std::unique_ptr<PatternStore> store(new PatternStore(database, options, std::move(index)));
  RETURN_IF_ERROR(store->Bind());
  RETURN_IF_ERROR(store->LoadSlots());
  RETURN_IF_ERROR(store->LoadVectors());
  RETURN_IF_ERROR(store->LoadSequence());
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
    ASSIGN_OR_RETURN(const uint32_t slot, SlotOfKey(row.key));
    ASSIGN_OR_RETURN(const patterns::SlotRow decoded, patterns::DecodeSlotRow(row.value));
    if (decoded.generation != row.generation) {
      return Corrupt("disagrees with its generation", slot);
    }
    slots_.resize(std::max<size_t>(slots_.size(), slot + size_t{1}));
    slots_[slot] = {decoded.id, decoded.generation, decoded.bank, decoded.live};
    if (decoded.live) {
      slot_of_[decoded.id] = slot;
    }
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kSlot, prefix, EndOfPrefix(prefix), load));
  for (size_t slot = slots_.size(); slot-- > 0;) {
    if (!slots_[slot].live) {
      free_slots_.push_back(static_cast<uint32_t>(slot));
    }
  }
  return absl::OkStatus();
}

absl::Status PatternStore::LoadVectors() {
  const std::string prefix = patterns::CollectionPrefix(collection_);
  const auto load = [this](const RowView& row) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const uint32_t slot, SlotOfKey(row.key));
    if (slot >= slots_.size() || !slots_[slot].live || slots_[slot].generation != row.generation) {
      return Corrupt("has an embedding that is not its own", slot);
    }
    ASSIGN_OR_RETURN(const std::vector<float> embedding,
                     patterns::DecodeVecRow(row.value, options_.dimension));
    RETURN_IF_ERROR(index_->Put({.label = slot,
                                 .generation = row.generation,
                                 .vector = embedding,
                                 .attributes = {.bank = slots_[slot].bank}}));
    return true;
  };
  RETURN_IF_ERROR(database_.Scan(ColumnFamily::kVec, prefix, EndOfPrefix(prefix), load));
  index_->LinkSome(slot_of_.size());
  const size_t indexed = index_->Counts().live;
  if (indexed != slot_of_.size()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "the store has {} patterns but {} embeddings; restore it from a backup",
                 slot_of_.size(), indexed);
  }
  return absl::OkStatus();
}

absl::Status PatternStore::LoadSequence() {
  ASSIGN_OR_RETURN(const std::optional<std::string> last, database_.LastKey(ColumnFamily::kOplog));
  if (last) {
    next_sequence_ = ReadKeyU64(*last, 0).value_or(0) + 1;
  }
  return absl::OkStatus();
}

}  // namespace ruvd
