// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/pattern_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/db/row_key.h"
#include "storage/patterns/pattern_keys.h"
#include "storage/patterns/pattern_rows.h"

namespace ruvd {
namespace {

using patterns::IdKey;
using patterns::OplogKey;
using patterns::PatternOp;
using patterns::SlotKey;

// Rows linked and nodes repaired after each change: more than one change adds, so that neither
// piles up.
constexpr size_t kLinksOfAChange = 2;
constexpr size_t kRepairsOfAChange = 64;

absl::Status NoSuchPattern(const PatternId& id) {
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "no pattern {}; list the patterns to see which there are", ToHex(id));
}

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, format,
               std::forward<Args>(args)...);
}

float Cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * double{b[i]};
    aa += double{a[i]} * double{a[i]};
    bb += double{b[i]} * double{b[i]};
  }
  return std::clamp(static_cast<float>(dot / std::sqrt(aa * bb)), -1.0F, 1.0F);
}

std::string ContentHash(std::string_view vec_row, std::string_view payload) {
  return std::string(AsText(Sha256({AsBytes(vec_row), AsBytes(payload)})));
}

}  // namespace

absl::Status PatternStore::Check(const Pattern& pattern) const {
  if (pattern.bank >= limits::kMaxBanks) {
    return Invalid("pattern of bank {}; banks go from 0 to {}", pattern.bank,
                   limits::kMaxBanks - 1);
  }
  if (pattern.tier == SharingTier::kUnspecified || pattern.tier > SharingTier::kPublic) {
    return Invalid("pattern without a sharing tier; name one, private where in doubt");
  }
  if (!(pattern.quality >= 0.0F && pattern.quality <= 1.0F)) {
    return Invalid("pattern of quality {}; quality is a mean reward from 0 to 1", pattern.quality);
  }
  if (pattern.task.size() > limits::kMaxTaskBytes ||
      pattern.adapter_name.size() > limits::kMaxAdapterNameBytes ||
      pattern.payload.size() > limits::kMaxPatternPayloadBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "pattern with a task of {}, an adapter name of {} and a payload of {} bytes; the "
                 "limits are {}, {} and {}",
                 pattern.task.size(), pattern.adapter_name.size(), pattern.payload.size(),
                 limits::kMaxTaskBytes, limits::kMaxAdapterNameBytes,
                 limits::kMaxPatternPayloadBytes);
  }
  return index_->Check({.vector = pattern.embedding, .attributes = {.bank = pattern.bank}});
}

uint32_t PatternStore::ChooseSlot() const {
  return free_slots_.empty() ? static_cast<uint32_t>(slots_.size()) : free_slots_.back();
}

void PatternStore::Occupy(uint32_t slot, const Slot& state) {
  if (slot >= slots_.size()) {
    slots_.resize(slot + 1);
  } else if (!free_slots_.empty() && free_slots_.back() == slot) {
    free_slots_.pop_back();
  }
  slots_[slot] = state;
  slot_of_[state.id] = slot;
}

void PatternStore::Vacate(uint32_t slot) {
  slots_[slot].live = false;
  slot_of_.erase(slots_[slot].id);
  free_slots_.push_back(slot);
}

void PatternStore::AppendOplog(uint8_t op, const PatternId& id, Batch* batch) const {
  batch->Put(ColumnFamily::kOplog, OplogKey(next_sequence_),
             patterns::EncodeOplogRow(static_cast<PatternOp>(op), collection_, id,
                                      database_.clock().WallMillis()));
  if (next_sequence_ > limits::kMaxOplogRows) {
    batch->Delete(ColumnFamily::kOplog, OplogKey(next_sequence_ - limits::kMaxOplogRows));
  }
}

absl::Status PatternStore::Put(const Pattern& pattern) {
  const MutexLock writer(writer_);
  RETURN_IF_ERROR(Check(pattern));
  {
    const std::unique_lock state(state_);
    const auto existing = slot_of_.find(pattern.id);
    const uint32_t slot = existing != slot_of_.end() ? existing->second : ChooseSlot();
    const uint32_t generation = slot < slots_.size() ? slots_[slot].generation + 1 : 1;
    const std::string vec = patterns::EncodeVecRow(pattern.embedding);
    patterns::MetaRow meta{.pattern = pattern,
                           .slot = slot,
                           .generation = generation,
                           .content_hash = ContentHash(vec, pattern.payload)};
    const patterns::SlotRow row{.id = pattern.id,
                                .generation = generation,
                                .bank = pattern.bank,
                                .tier = pattern.tier,
                                .live = true};
    Batch batch;
    batch.Put(ColumnFamily::kVec, SlotKey(collection_, slot), vec, generation);
    batch.Put(ColumnFamily::kMeta, IdKey(collection_, pattern.id), patterns::EncodeMetaRow(meta),
              generation);
    batch.Put(ColumnFamily::kSlot, SlotKey(collection_, slot), patterns::EncodeSlotRow(row),
              generation);
    batch.Put(ColumnFamily::kPayload, IdKey(collection_, pattern.id), pattern.payload, generation);
    AppendOplog(static_cast<uint8_t>(PatternOp::kPut), pattern.id, &batch);
    RETURN_IF_ERROR(database_.Write(std::move(batch), options_.durability));
    ++next_sequence_;
    Occupy(slot, {pattern.id, generation, pattern.bank, true});
    RETURN_IF_ERROR(index_->Put({.label = slot,
                                 .generation = generation,
                                 .vector = pattern.embedding,
                                 .attributes = {.bank = pattern.bank}}));
  }
  TendIndex();
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> PatternStore::SlotOf(const PatternId& id) const {
  const auto found = slot_of_.find(id);
  if (found == slot_of_.end()) {
    return NoSuchPattern(id);
  }
  return found->second;
}

absl::StatusOr<Pattern> PatternStore::ReadPattern(uint32_t slot) const {
  const Slot& state = slots_[slot];
  ASSIGN_OR_RETURN(
      const std::string meta,
      database_.Get(ColumnFamily::kMeta, IdKey(collection_, state.id), state.generation));
  ASSIGN_OR_RETURN(patterns::MetaRow row, patterns::DecodeMetaRow(meta, state.id));
  ASSIGN_OR_RETURN(const std::string vec,
                   database_.Get(ColumnFamily::kVec, SlotKey(collection_, slot), state.generation));
  ASSIGN_OR_RETURN(row.pattern.embedding, patterns::DecodeVecRow(vec, options_.dimension));
  return std::move(row.pattern);
}

absl::StatusOr<Pattern> PatternStore::Get(const PatternId& id) const {
  const std::shared_lock state(state_);
  ASSIGN_OR_RETURN(const uint32_t slot, SlotOf(id));
  ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(slot));
  ASSIGN_OR_RETURN(pattern.payload, database_.Get(ColumnFamily::kPayload, IdKey(collection_, id),
                                                  slots_[slot].generation));
  return pattern;
}

absl::Status PatternStore::Delete(const PatternId& id) {
  const MutexLock writer(writer_);
  {
    const std::unique_lock state(state_);
    ASSIGN_OR_RETURN(const uint32_t slot, SlotOf(id));
    const Slot& old = slots_[slot];
    patterns::MetaRow meta{.slot = slot, .generation = old.generation, .tombstone = true};
    meta.pattern.id = id;
    meta.pattern.updated_ms = database_.clock().WallMillis();
    const patterns::SlotRow row{.id = id, .generation = old.generation, .bank = old.bank};
    Batch batch;
    batch.Put(ColumnFamily::kMeta, IdKey(collection_, id), patterns::EncodeMetaRow(meta),
              old.generation);
    batch.Put(ColumnFamily::kSlot, SlotKey(collection_, slot), patterns::EncodeSlotRow(row),
              old.generation);
    batch.Delete(ColumnFamily::kVec, SlotKey(collection_, slot));
    batch.Delete(ColumnFamily::kPayload, IdKey(collection_, id));
    AppendOplog(static_cast<uint8_t>(PatternOp::kDelete), id, &batch);
    RETURN_IF_ERROR(database_.Write(std::move(batch), options_.durability));
    ++next_sequence_;
    index_->Remove(slot);
    Vacate(slot);
  }
  TendIndex();
  return absl::OkStatus();
}

void PatternStore::TendIndex() {
  index_->LinkSome(kLinksOfAChange);
  index_->RepairSome(kRepairsOfAChange);
}

absl::StatusOr<PatternPage> PatternStore::List(uint32_t page_size,
                                               std::string_view page_token) const {
  if (page_size == 0 || page_size > limits::kMaxListPageSize) {
    return Invalid("page of {} patterns; ask for 1 to {}", page_size, limits::kMaxListPageSize);
  }
  const std::shared_lock state(state_);
  auto next = slot_of_.begin();
  if (!page_token.empty()) {
    const std::optional<std::string> last = FromHex(page_token);
    PatternId id;
    if (!last || last->size() != id.size()) {
      return Invalid("page token \"{}\" is not one this node gave; list from the start",
                     page_token.substr(0, 2 * id.size()));
    }
    std::memcpy(id.data(), last->data(), id.size());
    next = slot_of_.upper_bound(id);
  }
  PatternPage page;
  for (; next != slot_of_.end() && page.patterns.size() < page_size; ++next) {
    ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(next->second));
    page.patterns.push_back(std::move(pattern));
  }
  if (next != slot_of_.end()) {
    page.next_page_token = ToHex(page.patterns.back().id);
  }
  return page;
}

absl::StatusOr<std::vector<PatternHit>> PatternStore::Search(
    std::span<const float> query, const PatternSearchOptions& options) const {
  const std::shared_lock state(state_);
  HnswQuery search{.vector = query, .k = options.k, .ef = options.ef};
  if (options.bank) {
    search.filter.banks = *options.bank < limits::kMaxBanks ? uint64_t{1} << *options.bank : 0;
  }
  ASSIGN_OR_RETURN(const std::vector<HnswHit> found, index_->Search(search));
  std::vector<PatternHit> hits;
  for (const HnswHit& hit : found) {
    ASSIGN_OR_RETURN(Pattern pattern, ReadPattern(hit.label));
    // From the row itself: the index knows the similarity up to the error of its codes.
    const float similarity = Cosine(query, pattern.embedding);
    hits.push_back({std::move(pattern), similarity});
  }
  std::stable_sort(hits.begin(), hits.end(), [](const PatternHit& a, const PatternHit& b) {
    return a.similarity > b.similarity;
  });
  return hits;
}

absl::StatusOr<patterns::MetaRow> PatternStore::ReadMeta(const PatternId& id,
                                                         uint32_t generation) const {
  ASSIGN_OR_RETURN(const std::string stored,
                   database_.Get(ColumnFamily::kMeta, IdKey(collection_, id), generation));
  return patterns::DecodeMetaRow(stored, id);
}

absl::Status PatternStore::RecordUse(const PatternId& id) {
  const MutexLock writer(writer_);
  const std::unique_lock state(state_);
  ASSIGN_OR_RETURN(const uint32_t slot, SlotOf(id));
  const uint32_t generation = slots_[slot].generation;
  ASSIGN_OR_RETURN(patterns::MetaRow row, ReadMeta(id, generation));
  ++row.pattern.uses;
  Batch batch;
  batch.Put(ColumnFamily::kMeta, IdKey(collection_, id), patterns::EncodeMetaRow(row), generation);
  return database_.Write(std::move(batch), Durability::kProcessCrash);
}

absl::Status PatternStore::SetTier(const PatternId& id, SharingTier tier) {
  const MutexLock writer(writer_);
  const std::unique_lock state(state_);
  ASSIGN_OR_RETURN(const uint32_t slot, SlotOf(id));
  const Slot& held = slots_[slot];
  ASSIGN_OR_RETURN(patterns::MetaRow meta, ReadMeta(id, held.generation));
  if (meta.pattern.tier == tier) {
    return absl::OkStatus();
  }
  meta.pattern.tier = tier;
  const patterns::SlotRow row{
      .id = id, .generation = held.generation, .bank = held.bank, .tier = tier, .live = true};
  Batch batch;
  batch.Put(ColumnFamily::kMeta, IdKey(collection_, id), patterns::EncodeMetaRow(meta),
            held.generation);
  batch.Put(ColumnFamily::kSlot, SlotKey(collection_, slot), patterns::EncodeSlotRow(row),
            held.generation);
  return database_.Write(std::move(batch), options_.durability);
}

absl::StatusOr<bool> PatternStore::WasDeleted(const PatternId& id) const {
  const std::shared_lock state(state_);
  if (slot_of_.contains(id)) {
    return false;
  }
  const absl::StatusOr<std::string> stored =
      database_.Get(ColumnFamily::kMeta, IdKey(collection_, id));
  if (absl::IsNotFound(stored.status())) {
    return false;
  }
  RETURN_IF_ERROR(stored.status());
  ASSIGN_OR_RETURN(const patterns::MetaRow row, patterns::DecodeMetaRow(*stored, id));
  return row.tombstone;
}

size_t PatternStore::size() const {
  const std::shared_lock state(state_);
  return slot_of_.size();
}

}  // namespace ruvd
