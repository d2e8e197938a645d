// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "federation/events/actions.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// Chooses the links that carry pushes: between kMeshLow and kMeshHigh of them, kMeshOutbound
// dialled by this node, selected and repaired as in gossipsub v1.1. Links outside the mesh answer
// requests and reconcile, and end when they are idle. This class only decides; the owner sends
// Graft and Prune. Not thread-safe.
//
// Many identities of one attacker come from few sources. gossipsub v1.1 lowers the scores of peers
// that share an address (P6), squared. Here that would expel honest members behind one NAT, or on
// one machine. So no score depends on the source, and no link is refused for it: a source only
// loses places beyond kMeshOfSource while links of other sources wait for one. If all links have
// one source, or each has its own, nothing changes.
class Mesh {
 public:
  explicit Mesh(Random random) : random_(random) {}

  // The part of the peer's address that one host cannot change at will, or the relay through which
  // the link runs; zero if neither is known. Two links of unknown sources share none.
  using Source = std::array<uint8_t, 16>;
  void LinkUp(LinkId link, const privacy::NodeId& peer, bool outbound, const Source& source,
              TimePoint now);
  void LinkDown(LinkId link);
  // This node adds the link to its mesh.
  void Graft(LinkId link);
  // The peer added the link to its mesh. Returns false if this node refuses; the answer is then
  // Prune. Even a full mesh accepts it, and drops another link at the next heartbeat, because
  // otherwise the members that came first would keep later ones out.
  bool OnGraft(LinkId link, double score, TimePoint now);
  // The peer, or this node, removed the link from the mesh, for at least `backoff`.
  void OnPrune(LinkId link, Duration backoff, TimePoint now);
  // The peer is about to end the link: it is no neighbour any more. It may be one over its next
  // link, because a node that starts again must not wait for a backoff.
  void OnLeaving(LinkId link, TimePoint now);
  bool Contains(LinkId link) const { return mesh_.contains(link); }
  // Links of the mesh, ascending
  const std::set<LinkId>& links() const { return mesh_; }

  struct Plan {
    std::vector<LinkId> graft;  // added to the mesh: send Graft
    std::vector<LinkId> prune;  // removed from the mesh: send Prune
    std::vector<LinkId> idle;   // outside the mesh and unused for long: close
    size_t dials = 0;           // number of neighbours to look for
    // Set if the neighbours deliver little: members to dial should have a higher score
    std::optional<double> better_than;
  };
  // Returns what to do now. `others` is the number of members that could be linked. The place of a
  // link whose score fell below 0 is given to another. Must be called every kHeartbeat.
  Plan Heartbeat(size_t others, const std::function<double(LinkId)>& score, TimePoint now);
  // A link outside the mesh was used.
  void Touch(LinkId link, TimePoint now);
  // Returns the link outside the mesh that was used least recently; 0 if there are no such links.
  LinkId LeastRecentlyUsed() const;
  // Returns how long a pruned peer must not be grafted yet; 0 if it may be.
  Duration BackoffLeft(const privacy::NodeId& peer, TimePoint now) const;
  bool BackedOff(const privacy::NodeId& peer, TimePoint now) const {
    return BackoffLeft(peer, now) > Duration{};
  }

 private:
  struct Link {
    privacy::NodeId peer{};
    bool outbound = false;
    Source source{};
    TimePoint used{};
    bool leaving = false;
  };
  size_t Outbound() const;
  void PlanOpportunity(const std::function<double(LinkId)>& score, TimePoint now, Plan& plan);
  std::vector<LinkId> ChoosePrunes(const std::function<double(LinkId)>& score);
  // Returns the links outside the mesh that may join it.
  std::vector<LinkId> Candidates(const std::function<double(LinkId)>& score, TimePoint now) const;
  using Places = std::map<Source, size_t>;
  Places PlacesOfSources() const;
  bool HasPlace(LinkId link, const Places& places) const;
  // Takes one of the places of the link's source. Returns false if the source has them all already.
  bool TakePlace(LinkId link, Places& places) const;
  // Returns the links in the same order, but those behind others whose source has taken its places.
  std::vector<LinkId> OtherSourcesFirst(const std::vector<LinkId>& links, Places places) const;
  // Gives places to links of other sources that wait for one, if a source has more than its own.
  void PlanOtherSources(const std::function<double(LinkId)>& score, TimePoint now, Plan& plan);
  // Takes places that a source has beyond its own, down to a mesh of kMeshDegree links.
  void PruneBeyondPlaces(const std::function<double(LinkId)>& score, TimePoint now, Plan& plan);

  Random random_;
  std::map<LinkId, Link> links_;
  std::set<LinkId> mesh_;
  std::map<privacy::NodeId, TimePoint> backoff_;  // end of the backoff
  TimePoint next_mix_{};
  TimePoint next_opportunity_{};
};

}  // namespace ruvd::federation
