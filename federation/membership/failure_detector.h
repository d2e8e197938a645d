// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "federation/events/outbox.h"
#include "federation/events/state_digest.h"
#include "federation/link/cluster_clock.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// Watches the neighbours: pings them, asks others to check those that do not answer, and reports
// those that failed. It follows the detector of SWIM (Das, Gupta, Motivala 2002), over links. With
// `lifeguard`, a node that notices that it is slow itself gives all members more time (Lifeguard,
// arXiv 1707.00788). Any frame counts as an answer. Not thread-safe.
class FailureDetector {
 public:
  // `outbox` must outlive the detector, and so must `clock`, whose own time pings name; null: they
  // name no time.
  FailureDetector(bool lifeguard, Outbox& outbox, Random random,
                  const ClusterClock* clock = nullptr)
      : lifeguard_(lifeguard), outbox_(&outbox), random_(random), clock_(clock) {}

  void LinkUp(LinkId link, const privacy::NodeId& peer, TimePoint now);
  // `lost`: the link broke without a goodbye, so the peer is checked in other ways.
  void LinkDown(LinkId link, bool lost, TimePoint now);
  // From now on pings name this state of the cluster's rounds.
  void NameState(const StateDigest& state) { state_ = state; }
  // A frame arrived.
  void OnFrameReceived(LinkId link, TimePoint now);
  // Returns the round trip time if the Ack answers an open Ping of this link.
  std::optional<Duration> OnAck(LinkId link, uint64_t seq, TimePoint now);
  // Returns whether the peer has owed the answer to a Ping for longer than kLinkTimeout, whatever
  // other frames it sends.
  bool IsAckOverdue(LinkId link, TimePoint now) const;
  void OnNack(LinkId link, uint64_t seq);
  // A neighbour asks whether this node reaches `target`.
  void OnPingRequest(LinkId link, uint64_t seq, const privacy::NodeId& target, TimePoint now);
  // Another node suspects a member: checks the member immediately if it is a neighbour, otherwise
  // with a probability such that about kWitnesses of all `members` check it.
  void Check(const privacy::NodeId& peer, size_t members, TimePoint now);
  // A newer record of the peer arrived, which refutes the suspicion of another node. A check that
  // this node began because of silence on its own link goes on, because the record may be just as
  // old as that silence.
  void OnRecord(const privacy::NodeId& peer);
  // This node had to refute a suspicion, which means that others wait too long for its answers.
  void OnRefuted() { Adjust(1); }

  // Sends what is due and returns the members that no check reached. Must be called with every
  // tick; a pause longer than kStallGap means that this node was stalled.
  std::vector<privacy::NodeId> Tick(TimePoint now);
  // How long this node was stalled before the last Tick; zero if it was not, or without lifeguard
  Duration stalled() const { return stalled_; }
  // Returns members that a neighbour asked about and that have no link; they should be dialled.
  std::vector<privacy::NodeId> TakeDialRequests();
  // Local health multiplier, 0 (healthy) to kMaxLocalHealth: timeouts are multiplied by 1 + this
  // value
  int health() const { return health_; }
  // Time of the last frame of a link; moved forward over a stall of this node
  TimePoint last_heard(LinkId link) const { return watches_.at(link).last_heard; }

 private:
  struct OpenPing {
    uint64_t seq = 0;
    TimePoint sent{};
    TimePoint deadline{};  // moved forward over a stall of this node
  };
  struct Watch {
    privacy::NodeId peer{};
    TimePoint last_heard{};
    TimePoint next_ping{};
    std::deque<OpenPing> pings;  // open pings, the oldest first
    std::optional<Duration> rtt;
  };
  // A peer that owes an answer.
  struct Open {
    TimePoint deadline{};
    TimePoint next_step{};
    uint64_t seq = 0;  // number of its PingRequests
    std::vector<LinkId> helpers;
    size_t nacks = 0;
    bool by_rumour = false;  // another node suspects it, and no link of this node was silent
  };
  // A peer that a neighbour asked this node to reach.
  struct IndirectProbe {
    LinkId asker = 0;
    uint64_t seq = 0;
    privacy::NodeId target{};
    TimePoint nack_at{};
  };
  Duration ScaledTimeout(Duration base) const { return base * (1 + health_); }
  void Adjust(int change);
  void SendPing(LinkId link, Watch& watch, TimePoint now);
  // Returns the check in progress, or begins a new one.
  Open& Begin(const privacy::NodeId& peer, TimePoint now, Duration first_step);
  // Tries again: over the link if there is one, and through helpers.
  void Step(const privacy::NodeId& peer, Open& open, TimePoint now);
  void Resolve(const privacy::NodeId& peer);
  void Answer(const IndirectProbe& errand, bool reached);
  void DetectStall(TimePoint now);

  bool lifeguard_;
  Outbox* outbox_;
  Random random_;
  const ClusterClock* clock_;
  std::map<LinkId, Watch> watches_;
  std::map<privacy::NodeId, LinkId> link_of_;
  std::map<privacy::NodeId, Open> checks_;
  std::vector<IndirectProbe> errands_;
  std::set<privacy::NodeId> wanted_;
  std::optional<StateDigest> state_;  // nullopt: this node has none
  uint64_t next_seq_ = 1;
  int health_ = 0;
  std::optional<TimePoint> last_tick_;
  Duration stalled_{};
};

}  // namespace ruvd::federation
