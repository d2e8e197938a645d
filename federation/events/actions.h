// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "federation/events/item.h"
#include "federation/events/state_digest.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::federation::v1 {
class WireFrame;
}  // namespace ruvd::federation::v1

namespace ruvd::federation {

// Identifies a link between two nodes. The caller chooses it: never 0, never twice in a process,
// and below 2^63.
using LinkId = uint64_t;

// kSuspect: the member did not answer, and may still refute this. kDead: it did not refute in time;
// a newer record brings it back. A record itself says only kAlive or kLeft.
enum class MemberState : uint8_t { kAlive = 1, kSuspect = 2, kLeft = 3, kDead = 4 };
std::string_view MemberStateName(MemberState state);  // "alive", "suspect", "left", "dead"

// Whether a member's messages are accepted. kRevoked: the cluster's authority revoked it,
// permanently. kEquivocated: it provably signed two messages under one number (gossip/evidence.h).
enum class MemberStanding : uint8_t { kGood, kRevoked, kEquivocated };

// A member as this node sees it.
struct Member {
  privacy::NodeId id{};
  std::string name;
  std::string address;  // host:port, empty if it cannot be dialled
  MemberState state = MemberState::kAlive;
  MemberStanding standing = MemberStanding::kGood;
  uint32_t roles = 0;
  uint64_t incarnation = 0;
  Digest model_hash{};
  TimePoint last_heard;         // over a link or from a newly signed record
  std::optional<Duration> rtt;  // of the link, if there is one and it was measured
  bool linked = false;
  bool self = false;
  StateAgreement rounds = StateAgreement::kUnknown;  // of its state of the cluster's rounds

  // Returns whether the member takes part in the cluster's current work.
  bool counts() const { return state == MemberState::kAlive && standing == MemberStanding::kGood; }
};

// ---- What the state machine asks its owner to do, in this order.

// Write a frame to a link. One frame may go to several links; it is shared, not copied.
struct SendFrame {
  LinkId link = 0;
  std::shared_ptr<const v1::WireFrame> frame;
};
// Close a link after the frames before this action were written. The state machine has forgotten
// the link, so OnLinkClosed is not needed (it would be ignored). The status has the reason.
struct CloseLink {
  LinkId link = 0;
  absl::Status status;
};
// The peer of a link has proved that it is a member.
struct LinkIdentified {
  LinkId link = 0;
};
// Connect; answer with OnLinkOpened(link, address) or OnDialFailed(address).
struct Dial {
  std::string address;
};
// A new item: store it durably, then use it. `own` items were offered by this node.
struct ItemAccepted {
  Item item;
  bool own = false;
};
// An item expired, was superseded or withdrawn: delete it from the store.
struct ItemDropped {
  Digest id{};
  ItemKind kind = ItemKind::kPattern;
};
// An item was taken back by its sender, or its sender is no longer trusted: compute again, without
// the item, what was made from it. This action precedes the ItemDropped. If the item is this node's
// own, tell the peers (GossipCore::OfferWithdrawal).
struct ItemWithdrawn {
  Item item;
  bool own = false;
};
// A message had no effect. `status` has a reason from base/reasons.h or federation/reasons.h, and
// names cause and remedy.
struct MessageRefused {
  // 0: the peer that passed it on is not to blame; from 2^63 on: a link through a relay
  LinkId link = 0;
  absl::Status status;
};
struct MemberChanged {
  Member member;
};
// The cluster's revocation list grew: store it durably, for SetRevocations after a restart.
struct RevocationsChanged {
  privacy::RevocationList list;
};

// Another member was found to have equivocated: store GossipCore::Evidence durably, for
// RestoreEvidence after a restart.
struct EvidenceChanged {};

// What is remembered of peers is worth storing: store GossipCore::Scores durably, for RestoreScores
// after a restart.
struct ScoresChanged {};

using Action = std::variant<SendFrame, CloseLink, LinkIdentified, Dial, ItemAccepted, ItemDropped,
                            ItemWithdrawn, MessageRefused, MemberChanged, RevocationsChanged,
                            EvidenceChanged, ScoresChanged>;
using Actions = std::vector<Action>;

}  // namespace ruvd::federation
