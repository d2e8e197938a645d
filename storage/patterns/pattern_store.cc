// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// This file has the methods of PatternStore that change patterns.

#include "storage/patterns/pattern_store.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/reasons.h"
#include "storage/row_text.h"

namespace ruvd::storage {
namespace {

using patterns::IdKey;
using patterns::OplogKey;
using patterns::SlotKey;

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

absl::Status CheckTier(SharingTier tier) {
  if (tier == SharingTier::kUnspecified || tier > SharingTier::kPublic) {
    return Invalid("the pattern has no sharing tier; give one, or private if in doubt");
  }
  return absl::OkStatus();
}

absl::Status CheckSizes(const Pattern& pattern) {
  if (pattern.task.size() > limits::kMaxTaskBytes ||
      pattern.adapter_name.size() > limits::kMaxStoredAdapterNameBytes ||
      pattern.payload.size() > limits::kMaxPatternPayloadBytes) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
        "the pattern has a task of {}, an adapter name of {} and a payload of {} bytes; the "
        "limits are {}, {} and {}",
        pattern.task.size(), pattern.adapter_name.size(), pattern.payload.size(),
        limits::kMaxTaskBytes, limits::kMaxStoredAdapterNameBytes, limits::kMaxPatternPayloadBytes);
  }
  return absl::OkStatus();
}

absl::Status Changed(const PatternId& id) {
  return Error(absl::StatusCode::kAborted, reasons::kChanged,
               "pattern {} was changed or removed meanwhile; read it again", ToHex(id));
}

absl::Status LostPattern(const PatternId& id) {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "the slot row and the meta row of pattern {} cannot be read; delete "
               "it, or restore the store from a backup",
               ToHex(id));
}

std::string ContentHash(std::string_view vec_row, std::string_view payload) {
  return std::string(AsText(Sha256({AsBytes(vec_row), AsBytes(payload)})));
}

}  // namespace

PatternStore::PatternStore(Database& database, const PatternStoreOptions& options,
                           std::unique_ptr<HnswIndex> index)
    : database_(database),
      options_(options),
      own_clock_(database.clock()),
      clock_(options.clock != nullptr ? *options.clock : own_clock_),
      index_(std::move(index)),
      slots_(std::chrono::milliseconds(options.half_life).count()),
      wall_(database.clock()) {}

absl::Status PatternStore::Check(const Pattern& pattern) const {
  if (pattern.bank >= limits::kMaxBanks) {
    return Invalid("the pattern has bank {}; use 0 to {}", pattern.bank, limits::kMaxBanks - 1);
  }
  RETURN_IF_ERROR(CheckTier(pattern.tier));
  if (!(pattern.quality >= 0.0F && pattern.quality <= 1.0F)) {
    return Invalid("the pattern has quality {}; quality is a mean reward from 0 to 1",
                   pattern.quality);
  }
  if (pattern.created_ms < 0 || pattern.created_ms > limits::kMaxFilterTimeMs) {
    return Invalid("the pattern was created at {} ms; give milliseconds since 1970",
                   pattern.created_ms);
  }
  if (pattern.expires_ms < 0 ||
      (pattern.expires_ms != 0 && pattern.expires_ms <= database_.clock().WallMillis())) {
    return Invalid("the pattern expired at {} ms; give a time in the future, or 0 for never",
                   pattern.expires_ms);
  }
  RETURN_IF_ERROR(CheckSizes(pattern));
  RETURN_IF_ERROR(CheckTexts("a pattern", {pattern.task, pattern.adapter_name}));
  if (!slots_.HasRoomForTask(pattern.task)) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the store has patterns of {} tasks, which is the limit; use fewer tasks",
                 limits::kMaxFilterTasks);
  }
  const uint32_t slot = slots_.Find(pattern.id).value_or(slots_.Choose());
  return index_->Check(
      {.label = slot, .vector = pattern.embedding, .attributes = {.bank = pattern.bank}});
}

void PatternStore::Log(PatternChangeKind kind, const PatternId& id, HybridTime time,
                       uint64_t sequence, Batch* batch) const {
  batch->Put(
      ColumnFamily::kOplog, OplogKey(sequence),
      patterns::EncodeOplogRow({.kind = kind, .collection = collection_, .id = id, .time = time}));
  if (sequence > limits::kMaxOplogRows) {
    batch->Delete(ColumnFamily::kOplog, OplogKey(sequence - limits::kMaxOplogRows));
  }
}

// A time in the future, which a peer may send, would keep a pattern from ever losing value. It is
// compared with the hybrid clock: a wall clock that is slightly behind a stamp, or was never set,
// does not make the stamp a time in the future.
patterns::SlotRow PatternStore::SlotRowOf(const Pattern& pattern, uint32_t generation) const {
  patterns::SlotRow row = patterns::SlotRowOf(pattern, generation);
  row.touched_ms = std::min(row.touched_ms, clock_.WallMillis());
  return row;
}

absl::Status PatternStore::CheckUnchanged(const PatternId& id,
                                          std::optional<HybridTime> expected) const {
  std::optional<HybridTime> stored;
  if (const std::optional<uint32_t> slot = LiveSlot(id)) {
    ASSIGN_OR_RETURN(const patterns::MetaRow meta, ReadMeta(id, slots_.at(*slot).generation));
    stored = meta.pattern.stamp;
  }
  return stored == expected ? absl::OkStatus() : Changed(id);
}

absl::Status PatternStore::Store(Pattern pattern) {
  if (const std::optional<uint32_t> replaced = LiveSlot(pattern.id)) {
    const auto meta = ReadMeta(pattern.id, slots_.at(*replaced).generation);
    if (meta.ok()) {  // a damaged row is replaced like any other
      pattern.uses = std::max(pattern.uses, meta->pattern.uses);
      pattern.last_used_ms = std::max(pattern.last_used_ms, meta->pattern.last_used_ms);
    }
  }
  pattern.stamp = clock_.Now();
  const uint32_t slot = slots_.Find(pattern.id).value_or(slots_.Choose());
  const uint32_t generation = slots_.GenerationOf(slot) + 1;
  const std::string vec = patterns::EncodeVecRow(pattern.embedding);
  const patterns::MetaRow meta{.pattern = pattern,
                               .slot = slot,
                               .generation = generation,
                               .content_hash = ContentHash(vec, pattern.payload)};
  const patterns::SlotRow row = SlotRowOf(pattern, generation);
  Batch batch;
  const KeyScope scope = KeyScope::Collection(collection_);
  batch.Put(ColumnFamily::kVec, SlotKey(collection_, slot), vec, generation, scope);
  batch.Put(ColumnFamily::kMeta, IdKey(collection_, pattern.id), patterns::EncodeMetaRow(meta),
            generation, scope);
  batch.Put(ColumnFamily::kSlot, SlotKey(collection_, slot), patterns::EncodeSlotRow(row),
            generation, scope);
  batch.Put(ColumnFamily::kPayload, IdKey(collection_, pattern.id), pattern.payload, generation,
            scope);
  Log(PatternChangeKind::kPut, pattern.id, pattern.stamp, next_sequence_, &batch);
  CleanWithheld(pattern.id, &batch);
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  const std::unique_lock state(state_);
  ++next_sequence_;
  slots_.Occupy(slot, row);
  SettleLost(pattern.id);
  const absl::Status indexed = index_->Put({.label = slot,
                                            .generation = generation,
                                            .vector = pattern.embedding,
                                            .attributes = slots_.AttributesOf(slot)});
  if (!indexed.ok()) {  // no memory: it is stored, but must not be found by its former embedding
    index_->Remove(slot);
  }
  return absl::OkStatus();
}

absl::Status PatternStore::Put(const Pattern& pattern, Durability durability) {
  {
    const Writing writing(writer_);
    RETURN_IF_ERROR(Check(pattern));
    RETURN_IF_ERROR(Store(pattern));
  }
  return Acknowledge(durability);
}

absl::Status PatternStore::Update(const Pattern& pattern, std::optional<HybridTime> expected,
                                  Durability durability) {
  {
    const Writing writing(writer_);
    RETURN_IF_ERROR(Check(pattern));
    RETURN_IF_ERROR(CheckUnchanged(pattern.id, expected));
    RETURN_IF_ERROR(Store(pattern));
  }
  return Acknowledge(durability);
}

std::optional<uint32_t> PatternStore::LiveSlot(const PatternId& id) const {
  const std::optional<uint32_t> slot = slots_.Find(id);
  return slot && !slots_.at(*slot).ExpiredAt(database_.clock().WallMillis()) ? slot : std::nullopt;
}

absl::StatusOr<uint32_t> PatternStore::SlotOf(const PatternId& id) const {
  const std::optional<uint32_t> slot = LiveSlot(id);
  if (!slot && IsLost(id)) {
    return LostPattern(id);
  }
  return slot ? absl::StatusOr<uint32_t>(*slot) : patterns::NoSuchPattern(id);
}

void PatternStore::CleanWithheld(const PatternId& lost, Batch* batch) const {
  if (lost_.size() == 1 && IsLost(lost)) {
    EmptyWithheld(batch);
  }
}

void PatternStore::EmptyWithheld(Batch* batch) const {
  for (const uint32_t slot : slots_.withheld()) {
    batch->Delete(ColumnFamily::kVec, SlotKey(collection_, slot));
    batch->Put(ColumnFamily::kSlot, SlotKey(collection_, slot),
               patterns::EncodeSlotRow({.generation = patterns::kGenerationAfterLoss}),
               patterns::kGenerationAfterLoss, KeyScope::Collection(collection_));
  }
}

void PatternStore::SettleLost(const PatternId& lost) {
  if (lost_.erase(lost) == 1 && lost_.empty()) {
    slots_.ReleaseWithheld(patterns::kGenerationAfterLoss);
  }
}

absl::Status PatternStore::RemoveLost(const PatternId& id) {
  patterns::MetaRow meta{.generation = patterns::kGenerationAfterLoss, .tombstone = true};
  meta.pattern.id = id;
  meta.pattern.stamp = clock_.Now();
  meta.pattern.updated_ms = clock_.WallMillis();
  Batch batch;
  batch.Put(ColumnFamily::kMeta, IdKey(collection_, id), patterns::EncodeMetaRow(meta),
            meta.generation, KeyScope::Collection(collection_));
  batch.Delete(ColumnFamily::kPayload, IdKey(collection_, id));
  Log(PatternChangeKind::kDelete, id, meta.pattern.stamp, next_sequence_, &batch);
  CleanWithheld(id, &batch);
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  const std::unique_lock state(state_);
  ++next_sequence_;
  ++tombstones_;
  SettleLost(id);
  return absl::OkStatus();
}

absl::Status PatternStore::RemoveSlots(std::span<const uint32_t> slots, PatternChangeKind kind,
                                       bool keep_tombstone) {
  Batch batch;
  const KeyScope scope = KeyScope::Collection(collection_);
  uint64_t sequence = next_sequence_;
  for (const uint32_t slot : slots) {
    const patterns::SlotState& old = slots_.at(slot);
    patterns::MetaRow meta{.slot = slot, .generation = old.generation, .tombstone = true};
    meta.pattern.id = old.id;
    meta.pattern.stamp = clock_.Now();
    if (keep_tombstone) {
      meta.pattern.updated_ms = clock_.WallMillis();  // never before a time that the node knew
    }
    const patterns::SlotRow row{.id = old.id, .generation = old.generation, .bank = old.bank};
    batch.Put(ColumnFamily::kMeta, IdKey(collection_, old.id), patterns::EncodeMetaRow(meta),
              old.generation, scope);
    batch.Put(ColumnFamily::kSlot, SlotKey(collection_, slot), patterns::EncodeSlotRow(row),
              old.generation, scope);
    batch.Delete(ColumnFamily::kVec, SlotKey(collection_, slot));
    batch.Delete(ColumnFamily::kPayload, IdKey(collection_, old.id));
    Log(kind, old.id, meta.pattern.stamp, sequence++, &batch);
  }
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  const std::unique_lock state(state_);
  next_sequence_ = sequence;
  tombstones_ += slots.size();
  expired_ += kind == PatternChangeKind::kExpire ? slots.size() : 0;
  evicted_ += kind == PatternChangeKind::kEvict ? slots.size() : 0;
  graph_changes_ += slots.size();
  for (const uint32_t slot : slots) {
    // Deleted and expired patterns must leave memory soon. Evicted ones only make room, so their
    // memory is freed later.
    kind == PatternChangeKind::kEvict ? index_->Remove(slot) : index_->Erase(slot);
    slots_.Vacate(slot);
  }
  return absl::OkStatus();
}

absl::Status PatternStore::Remove(const PatternId& id, bool keep_tombstone) {
  const Writing writing(writer_);
  const std::optional<uint32_t> slot = slots_.Find(id);
  if (!slot && !IsLost(id)) {
    return patterns::NoSuchPattern(id);
  }
  return slot ? RemoveSlots(std::span(&*slot, 1), PatternChangeKind::kDelete, keep_tombstone)
              : RemoveLost(id);
}

absl::Status PatternStore::Delete(const PatternId& id, Durability durability) {
  RETURN_IF_ERROR(Remove(id, /*keep_tombstone=*/true));
  return Acknowledge(durability);
}

absl::Status PatternStore::DeleteForRoom(const PatternId& id) {
  RETURN_IF_ERROR(Remove(id, /*keep_tombstone=*/false));
  return Acknowledge(Durability::kProcessCrash);
}

absl::StatusOr<patterns::MetaRow> PatternStore::ReadMeta(const PatternId& id,
                                                         uint32_t generation) const {
  ASSIGN_OR_RETURN(const std::string stored,
                   database_.Get(ColumnFamily::kMeta, IdKey(collection_, id), generation));
  return patterns::DecodeMetaRow(stored, id);
}

absl::Status PatternStore::Rewrite(uint32_t slot, const patterns::MetaRow& meta, Batch batch) {
  const patterns::SlotRow row = SlotRowOf(meta.pattern, meta.generation);
  const KeyScope scope = KeyScope::Collection(collection_);
  batch.Put(ColumnFamily::kMeta, IdKey(collection_, meta.pattern.id), patterns::EncodeMetaRow(meta),
            meta.generation, scope);
  batch.Put(ColumnFamily::kSlot, SlotKey(collection_, slot), patterns::EncodeSlotRow(row),
            meta.generation, scope);
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  const std::unique_lock state(state_);
  slots_.Occupy(slot, row);
  // This fails only for a pattern that the index had no memory for; the next start tries to add it
  // again.
  index_->SetAttributes(slot, slots_.AttributesOf(slot)).IgnoreError();
  return absl::OkStatus();
}

absl::Status PatternStore::RecordUse(const PatternId& id) {
  const Writing writing(writer_);
  ASSIGN_OR_RETURN(const uint32_t slot, SlotOf(id));
  ASSIGN_OR_RETURN(patterns::MetaRow meta, ReadMeta(id, slots_.at(slot).generation));
  meta.pattern.uses += meta.pattern.uses < std::numeric_limits<uint32_t>::max() ? 1 : 0;
  meta.pattern.last_used_ms = clock_.WallMillis();
  return Rewrite(slot, meta, Batch());
}

absl::Status PatternStore::SetTier(const PatternId& id, SharingTier tier,
                                   std::optional<HybridTime> expected) {
  RETURN_IF_ERROR(CheckTier(tier));
  {
    const Writing writing(writer_);
    ASSIGN_OR_RETURN(const uint32_t slot, SlotOf(id));
    ASSIGN_OR_RETURN(patterns::MetaRow meta, ReadMeta(id, slots_.at(slot).generation));
    if (expected && meta.pattern.stamp != *expected) {
      return Changed(id);
    }
    if (meta.pattern.tier != tier) {
      meta.pattern.tier = tier;
      meta.pattern.stamp = clock_.Now();
      Batch batch;
      Log(PatternChangeKind::kPut, id, meta.pattern.stamp, next_sequence_, &batch);
      RETURN_IF_ERROR(Rewrite(slot, meta, std::move(batch)));
      const std::unique_lock state(state_);
      ++next_sequence_;
    }
  }
  return Acknowledge();  // an earlier change to the same tier may not be durable yet
}

absl::Status PatternStore::Sync() {
  return Acknowledge();
}

absl::Status PatternStore::Acknowledge(Durability durability) {
  const bool durable = options_.durability == Durability::kPowerLoss;
  if (durable && durability == Durability::kProcessCrash) {
    return absl::OkStatus();  // the caller calls Sync later
  }
  uint64_t last = 0;
  {
    const std::shared_lock state(state_);
    last = next_sequence_ - 1;
  }
  if (durable && acknowledged_.load() < last) {
    RETURN_IF_ERROR(database_.Sync());
  }
  uint64_t before = acknowledged_.load();
  while (before < last && !acknowledged_.compare_exchange_weak(before, last)) {
  }
  const std::shared_lock calling(listener_mutex_);
  if (listener_ && before < last) {
    listener_(last);
  }
  return absl::OkStatus();
}

void PatternStore::SetChangeListener(std::function<void(uint64_t sequence)> listener) {
  const std::unique_lock changing(listener_mutex_);
  listener_ = std::move(listener);
}

}  // namespace ruvd::storage
