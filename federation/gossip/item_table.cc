// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/item_table.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/status.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

size_t CapOf(ItemKind kind, size_t mask_items) {
  switch (kind) {
    case ItemKind::kPattern:
      return limits::kMaxPatternsPerOrigin;
    case ItemKind::kWithdrawal:
      return limits::kMaxWithdrawalsPerOrigin;
    case ItemKind::kMaskKey:
    case ItemKind::kMaskSet:
    case ItemKind::kMaskCommitment:
    case ItemKind::kMaskShare:
      return mask_items;
    case ItemKind::kContribution:
    case ItemKind::kVerdict:
      return limits::kMaxContributionsPerOrigin;
    case ItemKind::kExpert:
      return limits::kMaxExpertsPerOrigin;
    case ItemKind::kCheckpoint:
      break;
  }
  return limits::kMaxCheckpointsPerOrigin;
}

}  // namespace

const Item* ItemTable::Find(const Digest& id) const {
  const auto found = items_.find(id);
  return found == items_.end() ? nullptr : &found->second;
}

std::map<Digest, Item>::iterator ItemTable::Remove(std::map<Digest, Item>::iterator it) {
  const Item& item = it->second;
  payload_bytes_ -= item.payload->size();
  const auto origin = origins_.find(item.origin);
  origin->second.bytes -= item.payload->size();
  const auto ages = origin->second.ages.find(item.kind);
  ages->second.erase({item.created_ms, item.id});
  if (ages->second.empty()) {
    origin->second.ages.erase(ages);
  }
  if (origin->second.ages.empty()) {
    origins_.erase(origin);
  }
  return items_.erase(it);
}

void ItemTable::AddTombstone(const Digest& id, int64_t expires_ms) {
  if (tombstones_.size() >= limits::kMaxTombstones && !tombstones_.contains(id)) {
    tombstones_.erase(tombstones_.begin());  // ids are hashes, so the first one is as good as any
  }
  tombstones_[id] = expires_ms;
  next_expiry_ms_ = std::min(next_expiry_ms_, expires_ms);
}

void ItemTable::Drop(const Digest& id) {
  const auto found = items_.find(id);
  if (found != items_.end()) {
    AddTombstone(id, found->second.expires_ms);
    Remove(found);
  }
}

bool ItemTable::HasExcess(const privacy::NodeId& origin, ItemKind kind) const {
  const auto known = origins_.find(origin);
  if (known == origins_.end()) {
    return false;
  }
  const auto ages = known->second.ages.find(kind);
  return ages != known->second.ages.end() && ages->second.size() > CapOf(kind, mask_items_);
}

std::map<Digest, Item>::iterator ItemTable::Excess(const privacy::NodeId& origin, ItemKind kind) {
  if (HasExcess(origin, kind)) {
    return items_.find(origins_.at(origin).ages.at(kind).begin()->second);
  }
  const bool short_of_memory = payload_bytes_ > limits::kMaxPayloadMemory;
  if (items_.size() <= limits::kMaxItems && !short_of_memory) {
    return items_.end();
  }
  const auto greedy = std::max_element(
      origins_.begin(), origins_.end(),
      [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
  // Withdrawals are small and old, and each origin has few; without them, the withdrawn items would
  // return. An expert takes the memory of a thousand patterns, so it goes before them.
  const auto order = [short_of_memory](const auto& entry) {
    const bool first = short_of_memory && entry.first == ItemKind::kExpert;
    return std::tuple(!first, entry.first == ItemKind::kWithdrawal, *entry.second.begin());
  };
  const auto oldest =
      std::min_element(greedy->second.ages.begin(), greedy->second.ages.end(),
                       [&order](const auto& a, const auto& b) { return order(a) < order(b); });
  return items_.find(oldest->second.begin()->second);
}

ItemTable::Inserted ItemTable::Insert(Item item) {
  const Digest id = item.id;
  const privacy::NodeId origin = item.origin;
  const ItemKind kind = item.kind;
  payload_bytes_ += item.payload->size();
  Origin& of_origin = origins_[origin];
  of_origin.bytes += item.payload->size();
  of_origin.ages[kind].emplace(item.created_ms, id);
  next_expiry_ms_ = std::min(next_expiry_ms_, item.expires_ms);
  const bool added = items_.emplace(id, std::move(item)).second;
  RUVD_CHECK(added);
  Inserted result{.kept = true, .dropped = {}};
  for (auto excess = Excess(origin, kind); excess != items_.end(); excess = Excess(origin, kind)) {
    ++(HasExcess(origin, kind) ? crowded_out_of_origin_ : crowded_out_);
    AddTombstone(excess->first, excess->second.expires_ms);
    if (excess->first == id) {
      result.kept = false;
    } else {
      result.dropped.push_back(excess->second);
    }
    Remove(excess);
  }
  return result;
}

std::vector<Item> ItemTable::Expire(int64_t wall_ms) {
  std::vector<Item> expired;
  if (wall_ms < next_expiry_ms_) {
    return expired;
  }
  for (auto it = items_.begin(); it != items_.end();) {
    if (it->second.expires_ms <= wall_ms) {
      expired.push_back(it->second);
      it = Remove(it);
    } else {
      ++it;
    }
  }
  std::erase_if(tombstones_, [wall_ms](const auto& entry) { return entry.second <= wall_ms; });
  next_expiry_ms_ = std::numeric_limits<int64_t>::max();
  for (const auto& [id, item] : items_) {
    next_expiry_ms_ = std::min(next_expiry_ms_, item.expires_ms);
  }
  for (const auto& [id, expires_ms] : tombstones_) {
    next_expiry_ms_ = std::min(next_expiry_ms_, expires_ms);
  }
  return expired;
}

}  // namespace ruvd::federation
