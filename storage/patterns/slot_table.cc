// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/patterns/slot_table.h"

#include <algorithm>
#include <iterator>

namespace ruvd::storage::patterns {
namespace {

// The number of slots that a list looks at while writers wait: about half a millisecond.
constexpr size_t kListedAtOnce = 4096;

// The index has no attribute for the standing, and fewer tiers are in use than it can distinguish:
// patterns that serve have their tier, 1 to 4, and the others one of the other four numbers.
constexpr uint32_t kTiers = static_cast<uint32_t>(SharingTier::kPublic);
constexpr uint32_t kServingTiers = ((1U << kTiers) - 1) << 1;
static_assert(2 * kTiers <= limits::kMaxFilterTiers);

uint32_t TierAttribute(SharingTier tier, bool serves) {
  return (static_cast<uint32_t>(tier) + (serves ? 0 : kTiers)) % (2 * kTiers);
}

bool Passes(const HnswAttributes& row, const HnswFilter& filter) {
  return ((filter.banks >> row.bank) & 1U) != 0 && ((filter.tiers >> row.tier) & 1U) != 0 &&
         (filter.tasks.empty() || filter.tasks.front() == row.task) &&
         (!filter.owner || *filter.owner == row.owner) && row.time_ms >= filter.min_time_ms &&
         row.time_ms <= filter.max_time_ms && row.quality >= filter.min_quality;
}

}  // namespace

std::pair<double, uint32_t> SlotTable::RankOf(const SlotState& state, uint32_t slot) const {
  return {PatternRank({state.quality, state.uses, state.touched_ms}, half_life_ms_), slot};
}

void SlotTable::Assign(uint32_t slot, const SlotRow& row) {
  slots_[slot] = {.id = row.id,
                  .generation = row.generation,
                  .task = tasks_.Acquire(row.task),
                  .origin = origins_.Acquire(row.origin),
                  .uses = row.uses,
                  .quality = row.quality,
                  .bank = static_cast<uint8_t>(row.bank),
                  .tier = row.tier,
                  .standing = row.standing,
                  .live = true,
                  .created_ms = row.created_ms,
                  .touched_ms = row.touched_ms,
                  .expires_ms = row.expires_ms};
  by_id_[row.id] = slot;
  ++banks_[row.bank];
  not_serving_ += Serves(row.standing) ? 0 : 1;
  if (row.expires_ms != 0) {
    by_expiry_.emplace(row.expires_ms, slot);
  }
  by_rank_.insert(RankOf(slots_[slot], slot));
}

void SlotTable::Forget(const SlotState& state, uint32_t slot) {
  damaged_ -= state.damaged ? 1 : 0;
  tasks_.Release(state.task);
  origins_.Release(state.origin);
  --banks_[state.bank];
  not_serving_ -= Serves(state.standing) ? 0 : 1;
  by_expiry_.erase({state.expires_ms, slot});
  by_rank_.erase(RankOf(state, slot));
}

void SlotTable::Load(uint32_t slot, const SlotRow& row) {
  slots_.resize(std::max<size_t>(slots_.size(), slot + size_t{1}));
  if (row.live) {
    Assign(slot, row);
  } else {
    slots_[slot] = {.id = row.id, .generation = row.generation};
  }
}

void SlotTable::Withhold(uint32_t slot) {
  slots_.resize(std::max<size_t>(slots_.size(), slot + size_t{1}));
  slots_[slot].withheld = true;
  withheld_.push_back(slot);
}

void SlotTable::ReleaseWithheld(uint32_t generation) {
  for (const uint32_t slot : withheld_) {
    slots_[slot] = {.generation = generation};
    free_.push_back(slot);
  }
  withheld_.clear();
}

void SlotTable::Loaded() {
  for (size_t slot = slots_.size(); slot-- > 0;) {
    if (!slots_[slot].live && !slots_[slot].withheld) {
      free_.push_back(static_cast<uint32_t>(slot));
    }
  }
}

void SlotTable::Occupy(uint32_t slot, const SlotRow& row) {
  if (slot >= slots_.size()) {
    slots_.resize(slot + size_t{1});
  } else if (slots_[slot].live) {
    Forget(slots_[slot], slot);
  } else if (!free_.empty() && free_.back() == slot) {
    free_.pop_back();
  }
  Assign(slot, row);
}

void SlotTable::Vacate(uint32_t slot) {
  SlotState& state = slots_[slot];
  Forget(state, slot);
  by_id_.erase(state.id);
  state.live = false;
  state.damaged = false;
  free_.push_back(slot);
}

void SlotTable::MarkDamaged(uint32_t slot) {
  damaged_ += slots_[slot].damaged ? 0 : 1;
  slots_[slot].damaged = true;
}

std::optional<uint32_t> SlotTable::Find(const PatternId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? std::nullopt : std::optional(found->second);
}

HnswAttributes SlotTable::AttributesOf(uint32_t slot) const {
  const SlotState& state = slots_[slot];
  return {.bank = state.bank,
          .task = state.task,
          .tier = TierAttribute(state.tier, Serves(state.standing)),
          .owner = state.origin,
          .time_ms = state.created_ms,
          .quality = state.quality};
}

std::optional<HnswFilter> SlotTable::Compile(const PatternFilter& filter) const {
  HnswFilter compiled;
  if (filter.bank) {
    if (*filter.bank >= limits::kMaxBanks) {
      return std::nullopt;
    }
    compiled.banks = uint64_t{1} << *filter.bank;
  }
  if (!filter.tiers.empty()) {
    compiled.tiers = 0;
    for (const SharingTier tier : filter.tiers) {
      compiled.tiers |= 1U << TierAttribute(tier, true);
      compiled.tiers |= 1U << TierAttribute(tier, false);
    }
  }
  // A filter that restricts nothing is faster.
  if (filter.serving && not_serving_ > 0) {
    compiled.tiers &= kServingTiers;
  }
  if (!filter.task.empty()) {
    const std::optional<uint32_t> task = tasks_.Find(filter.task);
    if (!task) {
      return std::nullopt;
    }
    compiled.tasks = {*task};
  }
  if (filter.origin) {
    compiled.owner = origins_.Find(*filter.origin);
    if (!compiled.owner) {
      return std::nullopt;
    }
  }
  compiled.min_quality = std::max(0.0F, filter.min_quality.value_or(0.0F));
  compiled.min_time_ms = std::max<int64_t>(0, filter.created_from_ms.value_or(0));
  if (filter.created_before_ms) {
    if (*filter.created_before_ms <= 0) {
      return std::nullopt;
    }
    compiled.max_time_ms = *filter.created_before_ms - 1;
  }
  return compiled;
}

SlotTable::Listed SlotTable::List(const std::optional<PatternId>& after,
                                  const PatternFilter& filter, int64_t now_ms, size_t count) const {
  Listed listed;
  const std::optional<HnswFilter> compiled = Compile(filter);
  if (!compiled) {
    return listed;
  }
  auto next = after ? by_id_.upper_bound(*after) : by_id_.begin();
  for (size_t seen = 0; next != by_id_.end(); ++next, ++seen) {
    const auto& [id, slot] = *next;
    if (seen == kListedAtOnce || listed.ids.size() == count) {
      listed.after = std::prev(next)->first;
      return listed;
    }
    if (!slots_[slot].damaged && !slots_[slot].ExpiredAt(now_ms) &&
        Passes(AttributesOf(slot), *compiled)) {
      listed.ids.push_back(id);
    }
  }
  return listed;
}

std::vector<uint32_t> SlotTable::Expired(int64_t now_ms, size_t count) const {
  std::vector<uint32_t> found;
  for (auto next = by_expiry_.begin();
       next != by_expiry_.end() && next->first <= now_ms && found.size() < count; ++next) {
    found.push_back(next->second);
  }
  return found;
}

size_t SlotTable::CountExpired(int64_t now_ms, size_t most) const {
  size_t count = 0;
  for (auto next = by_expiry_.begin();
       next != by_expiry_.end() && next->first <= now_ms && count < most; ++next) {
    ++count;
  }
  return count;
}

std::vector<uint32_t> SlotTable::LeastValuable(size_t count) const {
  std::vector<uint32_t> slots;
  for (auto next = by_rank_.begin(); next != by_rank_.end() && slots.size() < count; ++next) {
    slots.push_back(next->second);
  }
  return slots;
}

}  // namespace ruvd::storage::patterns
