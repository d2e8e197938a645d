// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "federation/events/item.h"
#include "federation/limits.h"

namespace ruvd::federation {

// The live items of a node, and the ids of items that it does not want again. Bounded by the limits
// in federation/limits.h: of each origin and kind only the newest items are kept, and when memory
// is short, the origin that uses most of it loses its oldest item. Nodes with the same items
// therefore drop the same ones. Not thread-safe.
class ItemTable {
 public:
  // `mask_items` is the number of newest items of each kind of masked rounds that an origin keeps.
  explicit ItemTable(size_t mask_items = limits::kMaxMaskItemsPerOrigin)
      : mask_items_(mask_items) {}

  struct Inserted {
    bool kept = false;          // false: `item` is older than those that its origin may keep
    std::vector<Item> dropped;  // other items that made room; their ids are remembered
  };
  // Inserts an item whose id is not known yet.
  Inserted Insert(Item item);
  // Removes items that expire by `wall_ms`, and forgets expired tombstones.
  std::vector<Item> Expire(int64_t wall_ms);
  // Removes one item and remembers its id as unwanted.
  void Drop(const Digest& id);
  // Remembers an id as unwanted until `expires_ms`, or until there are too many.
  void AddTombstone(const Digest& id, int64_t expires_ms);

  const Item* Find(const Digest& id) const;
  bool HasTombstone(const Digest& id) const { return tombstones_.contains(id); }
  const std::map<Digest, Item>& items() const { return items_; }
  uint64_t payload_bytes() const { return payload_bytes_; }
  // Return how many items were dropped, or not kept, for newer ones of their origin, and because
  // there were too many items or bytes.
  uint64_t crowded_out_of_origin() const { return crowded_out_of_origin_; }
  uint64_t crowded_out() const { return crowded_out_; }

 private:
  // Sorted by age, the oldest first; ids distinguish items of equal age.
  using Ages = std::set<std::pair<int64_t, Digest>>;
  // The live items of one origin; removed with its last item.
  struct Origin {
    uint64_t bytes = 0;
    std::map<ItemKind, Ages> ages;
  };

  // Returns the oldest item that must be dropped, or end().
  std::map<Digest, Item>::iterator Excess(const privacy::NodeId& origin, ItemKind kind);
  std::map<Digest, Item>::iterator Remove(std::map<Digest, Item>::iterator it);

  // Whether an origin has more items of a kind than are kept.
  bool HasExcess(const privacy::NodeId& origin, ItemKind kind) const;

  size_t mask_items_;
  uint64_t crowded_out_of_origin_ = 0;
  uint64_t crowded_out_ = 0;
  std::map<Digest, Item> items_;
  uint64_t payload_bytes_ = 0;
  std::map<privacy::NodeId, Origin> origins_;
  std::map<Digest, int64_t> tombstones_;  // id -> expires_ms
  int64_t next_expiry_ms_ =
      std::numeric_limits<int64_t>::max();  // no item expires before this time
};

}  // namespace ruvd::federation
