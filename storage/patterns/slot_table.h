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

// The content of a slot in memory, with names as numbers.
struct SlotState {
  PatternId id{};
  uint32_t generation = 0;
  uint32_t task = 0;
  uint32_t origin = 0;
  uint32_t uses = 0;
  float quality = 0;
  uint8_t bank = 0;
  SharingTier tier = SharingTier::kUnspecified;
  PatternStanding standing = PatternStanding::kOwn;
  bool live = false;
  bool damaged = false;   // its other rows cannot be read
  bool withheld = false;  // its content is unknown, so it is not reused
  int64_t created_ms = 0;
  int64_t touched_ms = 0;
  int64_t expires_ms = 0;

  bool ExpiredAt(int64_t now_ms) const { return expires_ms != 0 && expires_ms <= now_ms; }
};

// The rows of the family `slot` in memory: which pattern is in which slot, with the fields that
// filters, expiry and eviction need. It takes about 300 bytes for each pattern. Not thread-safe.
class SlotTable {
 public:
  explicit SlotTable(int64_t half_life_ms) : half_life_ms_(half_life_ms) {}

  // Adds a slot's row at start, in any order, each slot once. Dead slots are free after Loaded.
  void Load(uint32_t slot, const SlotRow& row);
  // Adds a slot whose row cannot be read.
  void Withhold(uint32_t slot);
  void Loaded();
  const std::vector<uint32_t>& withheld() const { return withheld_; }
  // Frees the withheld slots when all their patterns are known; later generations are above this
  // one.
  void ReleaseWithheld(uint32_t generation);

  // Puts a live row into the slot, whatever was in it before.
  void Occupy(uint32_t slot, const SlotRow& row);
  void Vacate(uint32_t slot);
  // Makes searches and lists skip a pattern until it is stored anew.
  void MarkDamaged(uint32_t slot);

  // Returns the slot of a pattern, or nothing when it is unknown.
  std::optional<uint32_t> Find(const PatternId& id) const;
  // Returns the slot to use for a new pattern.
  uint32_t Choose() const {
    return free_.empty() ? static_cast<uint32_t>(slots_.size()) : free_.back();
  }
  // Returns the last generation of a slot; 0: it was never used.
  uint32_t GenerationOf(uint32_t slot) const {
    return slot < slots_.size() ? slots_[slot].generation : 0;
  }
  const SlotState& at(uint32_t slot) const { return slots_[slot]; }
  // Returns whether the slot still holds what it held at that generation.
  bool Holds(uint32_t slot, uint32_t generation) const {
    return slot < slots_.size() && slots_[slot].live && slots_[slot].generation == generation;
  }
  // Returns whether a row may have this task: filters can distinguish limits::kMaxFilterTasks of
  // them.
  bool HasRoomForTask(const std::string& task) const {
    return tasks_.size() < limits::kMaxFilterTasks || tasks_.Find(task).has_value();
  }

  size_t size() const { return slots_.size(); }
  size_t live() const { return by_id_.size(); }
  size_t live_in_bank(uint32_t bank) const { return banks_[bank]; }
  size_t damaged() const { return damaged_; }
  size_t serving() const { return live() - not_serving_; }

  HnswAttributes AttributesOf(uint32_t slot) const;
  // Returns the filter for the vector index, or nothing when no pattern can match.
  std::optional<HnswFilter> Compile(const PatternFilter& filter) const;
  struct Listed {
    std::vector<PatternId> ids;
    std::optional<PatternId> after;  // where the next piece continues; nothing at the end
  };
  // Returns the first patterns in the order of ids, after `after` if given, that pass the filter
  // and have not expired: up to `count`, among a bounded number that it looks at.
  Listed List(const std::optional<PatternId>& after, const PatternFilter& filter, int64_t now_ms,
              size_t count) const;

  // Returns slots that have expired, the earliest first.
  std::vector<uint32_t> Expired(int64_t now_ms, size_t count) const;
  // Returns how many slots have expired, at most `most`.
  size_t CountExpired(int64_t now_ms, size_t most) const;
  // Returns the slots of the lowest value, the lowest first.
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
  std::set<std::pair<int64_t, uint32_t>> by_expiry_;  // slots with an expiry
  std::set<std::pair<double, uint32_t>> by_rank_;     // see PatternRank
  std::array<size_t, limits::kMaxBanks> banks_{};
  size_t damaged_ = 0;
  size_t not_serving_ = 0;  // live patterns that do not serve
  NameTable<std::string> tasks_;
  NameTable<Digest> origins_;
};

}  // namespace ruvd::storage::patterns
