// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "federation/events/actions.h"
#include "federation/instant.h"
#include "federation/membership/kept_scores.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// Scores peers by what they did to this node, never by what others say. This is the score of
// gossipsub v1.1 as far as it fits a pull protocol: time in the mesh (P1) and payloads delivered
// (P2) count for a peer; items that it failed to announce as a neighbour of the mesh (P3 and P3b),
// invalid messages (P4) and misbehaviour (P7) count against it, squared:
//
//   score = P1 + kDeliveryWeight * deliveries - (deficit - kDeficitAllowed)^2 - invalid^2
//           - (misbehaviour - kMisbehaviourAllowed)^2
//
// where a difference below 0 counts as 0. Counts fade, and persist when the link ends. A peer whose
// score without its deficit falls below kGraylistScore is kept out for a time that doubles with
// each occurrence: who is silent harms no node, so that costs only its place in the mesh. Bounded.
// Not thread-safe.
class PeerScores {
 public:
  void LinkUp(LinkId link, const privacy::NodeId& peer) {
    links_[link] = {.peer = peer, .meshed = {}};
  }
  void LinkDown(LinkId link) { links_.erase(link); }
  // Must be called every kHeartbeat: counts fade, and the links of `mesh` get more time in the
  // mesh.
  void Heartbeat(const std::set<LinkId>& mesh, TimePoint now);
  // Ends graylistings whose time is over.
  void Tick(TimePoint now);

  // A complete payload arrived over this link and was accepted.
  void RecordDelivery(LinkId link);
  // The peer no longer has what it announced. This reduces what it earned by deliveries, but never
  // below 0.
  void RecordMissing(LinkId link);
  // A message had no effect for a reason that its sender is to blame for. `weight` is 1 for
  // messages that no honest node sends.
  void Invalid(LinkId link, double weight);
  // A neighbour of the mesh lacks this many announcements (MeshAnnouncements). The largest deficit
  // counts, up to kMaxDeficit, and outlasts the place in the mesh, so that the peer does not get it
  // back at once.
  void RecordDeficit(LinkId link, double deficit);
  // The peer broke a promise, grafted too early, or sent too much.
  void RecordMisbehaviour(LinkId link, double weight);

  double Of(const privacy::NodeId& peer) const;
  double ScoreOfLink(LinkId link) const;
  // Returns peers above `score` with recent activity, the best first.
  std::vector<privacy::NodeId> Better(double score) const;

  bool Graylisted(const privacy::NodeId& peer) const;
  std::vector<privacy::NodeId> Graylisted() const;  // by id
  size_t size() const { return peers_.size(); }

  // Returns all counts and graylistings, except how long links have been in the mesh.
  // `own_wall_ms` is what the node's own wall clock shows, by whatever clock it goes.
  KeptScores Keep(Instant now, int64_t own_wall_ms) const;
  // Takes the result of Keep of an earlier process, at most kMaxScores of each. Counts fade by the
  // time of the wall clock that passed since, or not at all if it was set back. Values out
  // of range are brought into it: the record may be damaged, or from a time with another clock.
  void Restore(const KeptScores& kept, Instant now);
  bool empty() const { return peers_.empty() && graylistings_.empty(); }
  // Returns whether a peer was graylisted since the last ClearNewlyGraylisted.
  bool newly_graylisted() const { return newly_graylisted_; }
  void ClearNewlyGraylisted() { newly_graylisted_ = false; }

 private:
  struct Link {
    privacy::NodeId peer{};
    std::optional<TimePoint> meshed;  // since when the link is in the mesh
  };
  struct Peer {
    double deliveries = 0;
    double invalid = 0;
    double misbehaviour = 0;
    double deficit = 0;
  };
  struct Graylisting {
    TimePoint until{};
    int64_t times = 0;
  };
  static double ScoreOf(const Peer& peer);
  // Returns the score without the deficit.
  static double ConductOf(const Peer& peer);
  double MeshTimeOf(const Link& link) const;  // from 0 to kMeshTimeWeight
  // Returns the counts of a link's peer; nullptr for a link that is gone.
  Peer* CountsOf(LinkId link);
  void MakeRoom();
  // Called after an event that counts against a peer.
  void UpdateGraylist(LinkId link);

  std::map<LinkId, Link> links_;
  std::map<privacy::NodeId, Peer> peers_;  // peers with recent activity
  std::map<privacy::NodeId, Graylisting> graylistings_;
  TimePoint now_{};  // time of the last Tick
  bool newly_graylisted_ = false;
};

}  // namespace ruvd::federation
