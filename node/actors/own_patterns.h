// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "federation/gossip_core.h"
#include "inference/adapter/frame.h"
#include "node/actors/shared_items.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd {

// Keeps what peers are offered of this node's own patterns in step with the store: a pattern that
// was learned or made public is offered, one that was deleted, expired or made private is taken
// back, with every delta that it is part of. What peers have by then stays with them. Whoever
// changes a pattern need not say so: the store's log of changes is followed. Not thread-safe: the
// federation actor owns it.
//
// Methods return what the owner of the core has to do.
class OwnPatterns {
 public:
  // Everything borrowed outlives it. Follows the log from its present end on.
  OwnPatterns(PatternStore& patterns, const Frame& frame, const NodeId& self);

  // Removes the items of an earlier life of the node that may not be offered again: patterns that
  // are gone or may no longer leave, deltas that are not what the patterns of today make. Those of
  // peers stay. Returns the ids of what it removed.
  std::vector<Digest> RemoveTakenBack(std::vector<Item>* items);

  // Offers and takes back what the changes since the last call ask for: a page of the log, the rest
  // in the next call. The errors of PatternStore::Changes.
  absl::StatusOr<Actions> FollowChanges(GossipCore& core, Instant now);
  // The same for one pattern at once.
  Actions Refresh(const PatternId& id, GossipCore& core, Instant now);
  // The same for all of them: after a start, a change of consent, or where the log is cut.
  absl::StatusOr<Actions> RefreshAll(GossipCore& core, Instant now);

  // Whether the own delta is another than the one offered last.
  bool delta_changed() const { return delta_changed_; }
  // Offers it under the number `round`. Nothing without consent, or where nothing was learned.
  absl::StatusOr<Actions> OfferDelta(uint64_t round, GossipCore& core, Instant now);

 private:
  bool MayStillLeave(const Item& item, const absl::StatusOr<OwnCores>& own) const;
  // The versions of own patterns that peers can get, by updated_ms.
  using Offered = std::map<PatternId, std::set<int64_t>>;
  Offered OfferedBy(const GossipCore& core) const;
  void Refresh(const PatternId& id, const Offered& offered, GossipCore& core, Instant now,
               Actions* actions);
  void Offer(const Pattern& pattern, const Offered& offered, GossipCore& core, Instant now,
             Actions* actions);
  void TakeBack(const PatternId& id, const Offered& offered, GossipCore& core, Actions* actions);

  PatternStore& patterns_;
  const Frame& frame_;
  const NodeId self_;
  uint64_t followed_ = 0;          // the number of the last change that was looked at
  std::set<PatternId> in_deltas_;  // own patterns whose cores are part of an offered delta
  bool delta_changed_ = true;      // since nobody knows what an earlier life offered
};

}  // namespace ruvd
