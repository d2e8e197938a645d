// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/clock.h"
#include "base/token_bucket.h"
#include "federation/events/item.h"
#include "federation/learner/plan.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// Limits what one member may have this node fetch and store by items that it signed, over whichever
// links they come: items of each kind, and bytes of payloads. The limits (federation/limits.h) are
// above what an honest node makes; what exceeds them is not lost, but waits. Bounded. Not
// thread-safe.
class OriginBudget {
 public:
  // The items of a round, and the length of one, come from `plan`, which is null for a node that
  // runs no rounds; it is not kept. `mask_items` is the number of newest items of each kind of
  // masked rounds that a node keeps of an origin.
  OriginBudget(const LearnerPlan* plan, size_t mask_items);

  // Returns whether the budget allows that this node begins to fetch an item. It charges nothing,
  // so that peers who announce an item and do not have it cannot use up the budget of its origin.
  bool Allows(const privacy::NodeId& origin, ItemKind kind, uint64_t bytes, TimePoint now);
  // Charges an item that was fetched to the member that signed it. As several transfers may run at
  // a time, it may owe what the budget lacks.
  void Charge(const privacy::NodeId& origin, ItemKind kind, uint64_t bytes, TimePoint now);

  // Return how many items Allows put off because their origin has spread too many of the kind, and
  // too many bytes.
  uint64_t put_off_items() const { return put_off_items_; }
  uint64_t put_off_bytes() const { return put_off_bytes_; }
  // Returns how many members have a budget here, for tests.
  size_t size() const { return origins_.size(); }

 private:
  // How many events are allowed a second, and how many at once.
  struct Limit {
    double rate = 0;
    double burst = 0;
  };
  struct Origin {
    TokenBucket bytes;
    std::map<ItemKind, TokenBucket> items;
    TimePoint used{};
  };
  Limit LimitOf(ItemKind kind) const;
  Origin& OriginOf(const privacy::NodeId& origin, TimePoint now);
  TokenBucket& ItemsOf(Origin& origin, ItemKind kind, TimePoint now) const;
  // Forgets the member that used its budget longest ago, if there are too many.
  void MakeRoom();

  double rounds_per_second_;
  double mask_items_;
  Limit bytes_;
  std::map<privacy::NodeId, Origin> origins_;
  uint64_t put_off_items_ = 0;
  uint64_t put_off_bytes_ = 0;
};

}  // namespace ruvd::federation
