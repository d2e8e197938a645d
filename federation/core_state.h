// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "federation/gossip/exchange.h"
#include "federation/gossip_core.h"
#include "federation/link/handshake.h"
#include "federation/link/token_bucket.h"
#include "federation/membership/certificates.h"
#include "federation/membership/dial_planner.h"
#include "federation/membership/member_table.h"
#include "federation/outbox.h"
#include "federation/sealer.h"

namespace ruvd {

// What GossipCore is made of: links and their life here, members and items in their own parts.
struct GossipCore::State {
  using Frame = federation::v1::Frame;

  struct Link {
    LinkId id = 0;
    std::string dialed_address;
    Handshake handshake;
    bool active = false;
    NodeId peer{};  // once active
    TimePoint opened{};
    TimePoint last_heard{};
    TimePoint last_ping{};
    uint64_t ping_seq = 0;
    std::optional<Duration> rtt;
    TokenBucket frames;
    int offences = 0;
    std::map<NodeId, uint64_t> delivered;  // incarnations this link brought
  };

  State(GossipConfig config, const NodeKey& key, Entropy entropy, uint64_t seed);

  void OpenLink(LinkId id, const std::string& dialed_address, Instant now);
  // Handles a frame of an existing link.
  void HandleFrame(Link& link, const Frame& frame, Instant now);
  // Says why, closes, and forgets the link.
  void CloseWithGoaway(Link& link, const absl::Status& status, Instant now);
  // Forgets a link that is gone or about to be closed.
  void ForgetLink(LinkId id, bool hopeless, Instant now);
  void TickLinks(Instant now);
  void DialWhatIsDue(Instant now);
  void AnnounceSelf(MemberState state, Instant now);
  std::set<NodeId> LinkedPeers() const;

  LocalNode local;
  Random random;
  Outbox outbox;
  CertificateStore certificates;
  Sealer sealer;
  MemberTable members;
  DialPlanner dialer;
  ItemExchange exchange;
  std::map<LinkId, Link> links;
  ConsentTier consent = ConsentTier::kPrivate;
  std::optional<TimePoint> next_announcement;

 private:
  void OnHandshakeFrame(Link& link, const Frame& frame, Instant now);
  void Activate(Link& link, Instant now);
  // The link to keep of two to the same peer. Both sides choose the same one.
  bool KeepsNewLink(const Link& old_link, const Link& new_link) const;
  absl::Status OnActiveFrame(Link& link, const Frame& frame, Instant now);
  void OnAck(Link& link, uint64_t seq, TimePoint now);
  void OnGoaway(Link& link, const federation::v1::Goaway& goaway, Instant now);
  absl::Status OnMemberDelta(Link& link, const federation::v1::MemberDelta& delta, Instant now);
  void SendRecords(LinkId link, const std::vector<Envelope>& records);
  // Counts a refusal; closes a link with too many of them. False if it was closed.
  bool Refuse(Link& link, const absl::Status& status, Instant now);
};

}  // namespace ruvd
