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
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// Watches the neighbours: pings them, lets others try those that do not answer, and says who
// failed. Detector rules of SWIM (Das, Gupta, Motivala 2002) over links; with `lifeguard` a node
// that notices that it is slow itself gives everybody more time (Lifeguard, arXiv 1707.00788). Any
// frame counts as an answer. Not thread-safe.
class FailureDetector {
 public:
  // `outbox` outlives the detector.
  FailureDetector(bool lifeguard, Outbox& outbox, Random random)
      : lifeguard_(lifeguard), outbox_(&outbox), random_(random) {}

  // `can_check`: the peer understands PingRequest.
  void LinkUp(LinkId link, const privacy::NodeId& peer, bool can_check, TimePoint now);
  // `lost`: nobody said goodbye, so the peer is looked for by other ways.
  void LinkDown(LinkId link, bool lost, TimePoint now);
  // A frame came.
  void Heard(LinkId link, TimePoint now);
  // The round trip, where the Ack is that of a Ping of this link that is open.
  std::optional<Duration> OnAck(LinkId link, uint64_t seq, TimePoint now);
  // The peer owes the answer to a Ping for longer than kLinkTimeout, whatever else it says.
  bool OwesAck(LinkId link, TimePoint now) const;
  void OnNack(LinkId link, uint64_t seq);
  // A neighbour wants to know whether this node reaches `target`.
  void OnPingRequest(LinkId link, uint64_t seq, const privacy::NodeId& target, TimePoint now);
  // Somebody suspects a member: checks a neighbour out of turn, and anybody else with a chance that
  // makes some kWitnesses of all `members` do so.
  void Check(const privacy::NodeId& peer, size_t members, TimePoint now);
  // A newer record of the peer came: it refuted the suspicion for which this node looked for it.
  // A check that this node began for a silence of its own goes on: the record may be as old.
  void OnRecord(const privacy::NodeId& peer);
  // This node had to refute a suspicion: others wait for it too long.
  void OnRefuted() { Adjust(1); }

  // Sends what is due and returns those that no check reached. Call with every tick; a longer pause
  // than kStallGap means that this node was stalled.
  std::vector<privacy::NodeId> Tick(TimePoint now);
  // The time that this node was stalled before the last Tick; zero if it was not, or without
  // lifeguard.
  Duration stalled() const { return stalled_; }
  // Members that a neighbour asked for and that have no link: dial them.
  std::vector<privacy::NodeId> TakeWanted();
  // Local health multiplier, 0 (well) to kMaxLocalHealth: timeouts are 1 + this times as long.
  int health() const { return health_; }
  // Last frame of a link; moved on over a stall of this node.
  TimePoint last_heard(LinkId link) const { return watches_.at(link).last_heard; }

 private:
  struct OpenPing {
    uint64_t seq = 0;
    TimePoint sent{};
    TimePoint deadline{};  // moved on over a stall of this node
  };
  struct Watch {
    privacy::NodeId peer{};
    bool can_check = false;
    TimePoint last_heard{};
    TimePoint next_ping{};
    std::deque<OpenPing> pings;  // open, the oldest first
    std::optional<Duration> rtt;
  };
  // A peer that owes an answer.
  struct Open {
    TimePoint deadline{};
    TimePoint next_step{};
    uint64_t seq = 0;  // of its PingRequests
    std::vector<LinkId> helpers;
    size_t nacks = 0;
    bool by_rumour = false;  // somebody else suspects it, and no link of ours was silent
  };
  // A peer that a neighbour asked us to reach.
  struct Errand {
    LinkId asker = 0;
    uint64_t seq = 0;
    privacy::NodeId target{};
    TimePoint nack_at{};
  };
  Duration Patience(Duration base) const { return base * (1 + health_); }
  void Adjust(int change);
  void SendPing(LinkId link, Watch& watch, TimePoint now);
  // The check that is under way, or a new one.
  Open& Begin(const privacy::NodeId& peer, TimePoint now, Duration first_step);
  // Tries again, by the link if there is one and through helpers.
  void Step(const privacy::NodeId& peer, Open& open, TimePoint now);
  void Resolve(const privacy::NodeId& peer);
  void Answer(const Errand& errand, bool reached);
  void NoticeStall(TimePoint now);

  bool lifeguard_;
  Outbox* outbox_;
  Random random_;
  std::map<LinkId, Watch> watches_;
  std::map<privacy::NodeId, LinkId> link_of_;
  std::map<privacy::NodeId, Open> checks_;
  std::vector<Errand> errands_;
  std::set<privacy::NodeId> wanted_;
  uint64_t next_seq_ = 1;
  int health_ = 0;
  std::optional<TimePoint> last_tick_;
  Duration stalled_{};
};

}  // namespace ruvd::federation
