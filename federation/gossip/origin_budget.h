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

  // Charges an item that this node is about to fetch to the member that signed it. Returns false,
  // and charges nothing, if the budget does not allow it now.
  bool Take(const privacy::NodeId& origin, ItemKind kind, uint64_t bytes, TimePoint now);

  // Returns the members that have used a part of their budgets lately, for tests.
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
  // Forgets the member that used its budget longest ago, if there are too many.
  void MakeRoom();

  double rounds_per_second_;
  double mask_items_;
  Limit bytes_;
  std::map<privacy::NodeId, Origin> origins_;
};

}  // namespace ruvd::federation
