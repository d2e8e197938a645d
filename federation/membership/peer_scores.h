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
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// What this node thinks of its peers by what they did to it, never by what others say. The score of
// gossipsub v1.1 as far as it fits a pull protocol: time in the mesh (P1) and payloads delivered
// (P2) count for a peer, invalid messages (P4) and misbehaviour (P7) against it, squared. Counts
// fade, and stay when the link ends. Whoever falls below kGraylistScore is kept out for a while
// that doubles each time. Bounded; not thread-safe.
class PeerScores {
 public:
  void LinkUp(LinkId link, const privacy::NodeId& peer) {
    links_[link] = {.peer = peer, .meshed = {}};
  }
  void LinkDown(LinkId link) { links_.erase(link); }
  // Call every kHeartbeat: counts fade, and links of `mesh` have been in it for so much longer.
  void Heartbeat(const std::set<LinkId>& mesh, TimePoint now);
  // Lets sentences end.
  void Tick(TimePoint now);

  // A payload came whole over this link and was taken.
  void Delivered(LinkId link);
  // The peer has no more what it had announced: as much less than it has earned, and never below 0.
  void Missed(LinkId link);
  // A message had no effect for a reason that its sender is to blame for; `weight` is 1 for what no
  // honest node sends.
  void Invalid(LinkId link, double weight);
  // Promised and did not deliver, grafted too early, sent too much.
  void Misbehaved(LinkId link, double weight);

  double Of(const privacy::NodeId& peer) const;
  double OfLink(LinkId link) const;
  // Peers above `score` that did something lately, the best first.
  std::vector<privacy::NodeId> Better(double score) const;

  bool Graylisted(const privacy::NodeId& peer) const;
  std::vector<privacy::NodeId> Graylisted() const;  // by id
  size_t size() const { return peers_.size(); }

 private:
  struct Link {
    privacy::NodeId peer{};
    std::optional<TimePoint> meshed;  // in the mesh since
  };
  struct Peer {
    double deliveries = 0;
    double invalid = 0;
    double misbehaviour = 0;
  };
  struct Sentence {
    TimePoint until{};
    int times = 0;
  };
  static double ScoreOf(const Peer& peer);
  // The counts of a link's peer; nullptr for a link that is gone.
  Peer* CountsOf(LinkId link);
  void MakeRoom();
  // After something that counts against a peer.
  void Judge(LinkId link);

  std::map<LinkId, Link> links_;
  std::map<privacy::NodeId, Peer> peers_;  // those that did something
  std::map<privacy::NodeId, Sentence> sentences_;
  TimePoint now_{};  // of the last Tick
};

}  // namespace ruvd::federation
