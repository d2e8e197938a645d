// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/item_table.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/status.h"
#include "federation/limits.h"

namespace ruvd {
namespace {

bool Older(const Item& a, const Item& b) {
  return std::tie(a.created_ms, a.id) < std::tie(b.created_ms, b.id);
}

}  // namespace

const Item* ItemTable::Find(const Digest& id) const {
  const auto found = items_.find(id);
  return found == items_.end() ? nullptr : &found->second;
}

std::map<Digest, Item>::iterator ItemTable::Remove(std::map<Digest, Item>::iterator it) {
  const uint64_t bytes = it->second.payload->size();
  payload_bytes_ -= bytes;
  auto origin = bytes_of_origin_.find(it->second.origin);
  origin->second -= bytes;
  if (origin->second == 0) {
    bytes_of_origin_.erase(origin);
  }
  return items_.erase(it);
}

void ItemTable::Bury(const Digest& id, int64_t expires_ms) {
  if (tombstones_.size() >= limits::kMaxTombstones && !tombstones_.contains(id)) {
    tombstones_.erase(tombstones_.begin());  // ids are hashes: the first is as good as any
  }
  tombstones_[id] = expires_ms;
  next_expiry_ms_ = std::min(next_expiry_ms_, expires_ms);
}

void ItemTable::Drop(const Digest& id) {
  const auto found = items_.find(id);
  if (found != items_.end()) {
    Bury(id, found->second.expires_ms);
    Remove(found);
  }
}

std::map<Digest, Item>::iterator ItemTable::Excess(const NodeId& origin, ItemKind kind) {
  size_t of_origin = 0;
  auto oldest_of_origin = items_.end();
  for (auto it = items_.begin(); it != items_.end(); ++it) {
    if (it->second.origin == origin && it->second.kind == kind) {
      ++of_origin;
      if (oldest_of_origin == items_.end() || Older(it->second, oldest_of_origin->second)) {
        oldest_of_origin = it;
      }
    }
  }
  const size_t cap =
      kind == ItemKind::kAdapterDelta ? limits::kMaxDeltasPerOrigin : limits::kMaxPatternsPerOrigin;
  if (of_origin > cap) {
    return oldest_of_origin;
  }
  if (items_.size() <= limits::kMaxItems && payload_bytes_ <= limits::kMaxPayloadMemory) {
    return items_.end();
  }
  const auto greedy =
      std::max_element(bytes_of_origin_.begin(), bytes_of_origin_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  auto oldest = items_.end();
  for (auto it = items_.begin(); it != items_.end(); ++it) {
    if (it->second.origin == greedy->first &&
        (oldest == items_.end() || Older(it->second, oldest->second))) {
      oldest = it;
    }
  }
  return oldest;
}

ItemTable::Inserted ItemTable::Insert(Item item) {
  const Digest id = item.id;
  const NodeId origin = item.origin;
  const ItemKind kind = item.kind;
  payload_bytes_ += item.payload->size();
  bytes_of_origin_[origin] += item.payload->size();
  next_expiry_ms_ = std::min(next_expiry_ms_, item.expires_ms);
  const bool added = items_.emplace(id, std::move(item)).second;
  RUVD_CHECK(added);
  Inserted result{.kept = true, .dropped = {}};
  for (auto excess = Excess(origin, kind); excess != items_.end(); excess = Excess(origin, kind)) {
    Bury(excess->first, excess->second.expires_ms);
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

}  // namespace ruvd
