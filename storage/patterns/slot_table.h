// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/hnsw/attributes.h"
#include "storage/limits.h"
#include "storage/patterns/name_table.h"
#include "storage/patterns/pattern_filter.h"
#include "storage/patterns/pattern_rows.h"
#include "storage/patterns/pattern_value.h"

namespace ruvd::storage::patterns {

// What memory holds of a slot; its names as numbers.
struct SlotState {
  PatternId id{};
  uint32_t generation = 0;
  uint32_t task = 0;
  uint32_t origin = 0;
  uint32_t uses = 0;
  float quality = 0;
  uint8_t bank = 0;
  SharingTier tier = SharingTier::kUnspecified;
  bool live = false;
  bool damaged = false;   // its other rows cannot be read
  bool withheld = false;  // nobody knows what is in it: not given away
  int64_t created_ms = 0;
  int64_t touched_ms = 0;
  int64_t expires_ms = 0;

  bool ExpiredAt(int64_t now_ms) const { return expires_ms != 0 && expires_ms <= now_ms; }
};

// Which pattern is in which slot, with all that filters, expiry and eviction ask: the rows of the
// family `slot` in memory, about 300 bytes a pattern. Not thread-safe.
class SlotTable {
 public:
  explicit SlotTable(int64_t half_life_ms) : half_life_ms_(half_life_ms) {}

  // A slot's row as a start reads it; in any order, each once. Dead ones are free from Loaded on.
  void Load(uint32_t slot, const SlotRow& row);
  // One whose row says nothing any more.
  void Withhold(uint32_t slot);
  void Loaded();
  const std::vector<uint32_t>& withheld() const { return withheld_; }
  // Makes those free whose patterns are accounted for: later generations are above this one.
  void ReleaseWithheld(uint32_t generation);

  // Takes the slot for a live row, whatever was in it before.
  void Occupy(uint32_t slot, const SlotRow& row);
  void Vacate(uint32_t slot);
  // Searches and lists pass over a damaged pattern, until it is stored anew.
  void MarkDamaged(uint32_t slot);

  // Where a pattern is; nothing where it is not.
  std::optional<uint32_t> Find(const PatternId& id) const;
  // The slot for a pattern that has none.
  uint32_t Choose() const {
    return free_.empty() ? static_cast<uint32_t>(slots_.size()) : free_.back();
  }
  // The last generation that a slot was given away with; 0: never.
  uint32_t GenerationOf(uint32_t slot) const {
    return slot < slots_.size() ? slots_[slot].generation : 0;
  }
  const SlotState& at(uint32_t slot) const { return slots_[slot]; }
  // Whether the slot still holds what it held at that generation.
  bool Holds(uint32_t slot, uint32_t generation) const {
    return slot < slots_.size() && slots_[slot].live && slots_[slot].generation == generation;
  }
  // Whether a row may have this task: filters tell limits::kMaxFilterTasks of them apart.
  bool HasRoomForTask(const std::string& task) const {
    return tasks_.size() < limits::kMaxFilterTasks || tasks_.Find(task).has_value();
  }

  size_t size() const { return slots_.size(); }
  size_t live() const { return by_id_.size(); }
  size_t live_in_bank(uint32_t bank) const { return banks_[bank]; }
  size_t damaged() const { return damaged_; }

  HnswAttributes AttributesOf(uint32_t slot) const;
  // What the vector index is to be asked; nothing where no pattern can match.
  std::optional<HnswFilter> Compile(const PatternFilter& filter) const;
  struct Listed {
    std::vector<PatternId> ids;
    std::optional<PatternId> after;  // where the next piece goes on; nothing at the end
  };
  // The first patterns in the order of ids, after `after` where given, that pass the filter and
  // have not expired: up to `count`, of a bounded number that it looks at.
  Listed List(const std::optional<PatternId>& after, const PatternFilter& filter, int64_t now_ms,
              size_t count) const;

  // Slots that have expired, the earliest first.
  std::vector<uint32_t> Expired(int64_t now_ms, size_t count) const;
  // How many have, but not more than `most`.
  size_t CountExpired(int64_t now_ms, size_t most) const;
  // The slots of the lowest value, the lowest first.
  std::vector<uint32_t> LeastValuable(size_t count) const;

 private:
  void Assign(uint32_t slot, const SlotRow& row);
  void Forget(const SlotState& state, uint32_t slot);
  std::pair<double, uint32_t> RankOf(const SlotState& state, uint32_t slot) const;

  const int64_t half_life_ms_;
  std::vector<SlotState> slots_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> withheld_;
  std::map<PatternId, uint32_t> by_id_;
  std::set<std::pair<int64_t, uint32_t>> by_expiry_;  // those that expire
  std::set<std::pair<double, uint32_t>> by_rank_;     // see PatternRank
  std::array<size_t, limits::kMaxBanks> banks_{};
  size_t damaged_ = 0;
  NameTable<std::string> tasks_;
  NameTable<Digest> origins_;
};

}  // namespace ruvd::storage::patterns
