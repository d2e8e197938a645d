// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "base/bytes.h"
#include "base/clock.h"
#include "federation/events/actions.h"
#include "federation/membership/score_limits.h"

namespace ruvd::federation {

// Finds neighbours of the mesh that are silent while the others announce items: the delivery
// deficit of gossipsub v1.1 (P3 of "The Score Function",
// https://github.com/libp2p/specs/blob/master/pubsub/gossipsub/gossipsub-v1.1.md), with four
// deviations.
// - It counts announcements in place of deliveries, because a payload is pulled from one announcer
//   only. Each node announces an item once to every neighbour, also to those that announced it
//   first (ItemExchange::Spread). So a node that always hears of items from others is not silent.
// - An announcement counts until kAnnounceTime after this node took the item, in place of
//   gossipsub's window of milliseconds: a slow link is not silent either.
// - The threshold is no fixed rate. A neighbour is compared with the share that the best but one of
//   the others announced, so there is no deficit in a quiet cluster, or while all fail alike:
//
//     deficit = max(0, kLeastShareOfCompared * share * owed - announced)
//
//   and 0 if `share` is below kLeastAnnounced.
// - The counts are halved at kMostOwed items, and do not fade by time.
// A neighbour that repeats what it is told in announcements of its own is not found. All tables are
// bounded by limits::kMaxAwaitedItems and the number of links. Not thread-safe.
class MeshAnnouncements {
 public:
  // Must be called every kHeartbeat with the links of the mesh: counts who announced what was due.
  void Heartbeat(const std::set<LinkId>& mesh, TimePoint now);
  // This node took an item at `now`, which it pushes to all links of its mesh and which all of them
  // will confirm: it is neither too old for that nor dated ahead. The links `told`
  // announced it, and `excused` ones need not: they do not take items of this kind.
  void RecordItem(const Digest& id, const std::set<LinkId>& told, const std::set<LinkId>& excused,
                  TimePoint now);
  // The peer of this link announced an item.
  void RecordAnnouncement(const Digest& id, LinkId link);
  // This node dropped an item: a neighbour that drops it too will not announce it, so it owes it no
  // more.
  void Forget(const Digest& id) { awaited_.erase(id); }

  // Returns how many announcements a neighbour lacks, from 0 to kMostOwed / 4; 0 for a link that is
  // not in the mesh, or only lately.
  double DeficitOf(LinkId link) const;

 private:
  struct Neighbour {
    TimePoint since{};  // when it joined the mesh
    double owed = 0;
    double announced = 0;
    bool judged() const;  // it owed enough
  };
  // An item whose announcements may still come
  struct Awaited {
    TimePoint taken{};
    std::map<LinkId, bool> announced;  // by the neighbours that owe it
  };
  void Settle(const Awaited& item);
  // Returns the share that the best but one of the other neighbours announced; 0 if there are too
  // few.
  double SecondBestBeside(LinkId link) const;

  std::map<LinkId, Neighbour> neighbours_;  // the links of the mesh
  std::map<Digest, Awaited> awaited_;
};

}  // namespace ruvd::federation
