// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
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

// Which links carry pushes: between kMeshLow and kMeshHigh of them, kMeshOutbound dialled by this
// node, chosen and mended as gossipsub v1.1 does. Links outside the mesh answer requests and
// reconcile, and end when they are idle. Decides only; the owner sends Graft and Prune. Not
// thread-safe.
class Mesh {
 public:
  explicit Mesh(Random random) : random_(random) {}

  // `fixed`: the peer knows no mesh (version 1) and pushes over every link; so do we.
  void LinkUp(LinkId link, const privacy::NodeId& peer, bool outbound, bool fixed, TimePoint now);
  void LinkDown(LinkId link);
  // This node takes the link in.
  void Graft(LinkId link);
  // The peer took it in. False: not for this node, answer Prune. A full mesh takes it, too, and
  // lets another go with the next heartbeat: else those who came first would close the door.
  bool OnGraft(LinkId link, double score, TimePoint now);
  // The peer, or this node, took it out, for at least `backoff`.
  void OnPrune(LinkId link, Duration backoff, TimePoint now);
  bool Contains(LinkId link) const { return mesh_.contains(link); }
  // Links of the mesh, ascending.
  const std::set<LinkId>& links() const { return mesh_; }

  struct Plan {
    std::vector<LinkId> graft;  // taken in: send Graft
    std::vector<LinkId> prune;  // taken out: send Prune
    std::vector<LinkId> idle;   // neither in the mesh nor used for long: close
    size_t dials = 0;           // neighbours to look for
    // The neighbours give little: the score that members to dial should exceed.
    std::optional<double> better_than;
  };
  // What is to be done now. `others`: members that could be linked. Call every kHeartbeat.
  Plan Heartbeat(size_t others, const std::function<double(LinkId)>& score, TimePoint now);
  // A link outside the mesh is of use.
  void Touch(LinkId link, TimePoint now);
  // Of links outside the mesh the one used least recently; 0 if there is none.
  LinkId Idlest() const;
  // A pruned peer is not to be grafted yet.
  bool BackedOff(const privacy::NodeId& peer, TimePoint now) const;

 private:
  struct Link {
    privacy::NodeId peer{};
    bool outbound = false;
    bool fixed = false;
    TimePoint used{};
  };
  size_t Outbound() const;
  void PlanOpportunity(const std::function<double(LinkId)>& score, TimePoint now, Plan& plan);
  std::vector<LinkId> ChoosePrunes(const std::function<double(LinkId)>& score);

  Random random_;
  std::map<LinkId, Link> links_;
  std::set<LinkId> mesh_;
  std::map<privacy::NodeId, TimePoint> backoff_;  // until when
  TimePoint next_mix_{};
  TimePoint next_opportunity_{};
};

}  // namespace ruvd::federation
