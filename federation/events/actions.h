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
#include "privacy/identity/revocation_list.h"

namespace ruvd::federation::v1 {
class Frame;
}

namespace ruvd::federation {

// Names a link between two nodes; the caller picks it, never 0, never twice in a process, below
// 2^63.
using LinkId = uint64_t;

// kSuspect: did not answer, may still refute. kDead: did not refute in time; comes back by a newer
// record. A record itself says kAlive or kLeft only.
enum class MemberState : uint8_t { kAlive = 1, kSuspect = 2, kLeft = 3, kDead = 4 };
std::string_view MemberStateName(MemberState state);  // "alive", "suspect", "left", "dead"

// Whether a member is still listened to. kRevoked: by the cluster's authority, for ever.
// kEquivocated: it signed two messages under one number, which is proven (gossip/evidence.h).
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
  TimePoint last_heard;         // by link or by a newly signed record
  std::optional<Duration> rtt;  // of the link, if there is one and it was measured
  bool linked = false;
  bool self = false;

  // Whether it takes part in what the cluster does now.
  bool counts() const { return state == MemberState::kAlive && standing == MemberStanding::kGood; }
};

// ---- What the state machine asks its owner to do, in this order.

// Write a frame to a link. One frame may go to several links; it is shared, not copied.
struct SendFrame {
  LinkId link = 0;
  std::shared_ptr<const v1::Frame> frame;
};
// Close a link after the frames before this action were written. The state machine has forgotten
// the link already: no OnLinkClosed for it (one is ignored). The status says why, with a reason.
struct CloseLink {
  LinkId link = 0;
  absl::Status status;
};
// Connect; answer with OnLinkOpened(link, address) or OnDialFailed(address).
struct Dial {
  std::string address;
};
// A new item: store it durably, then use it. Own items are those offered by this node.
struct ItemAccepted {
  Item item;
  bool own = false;
};
// An item expired, was superseded or withdrawn: delete it from the store.
struct ItemDropped {
  Digest id{};
  ItemKind kind = ItemKind::kAdapterDelta;
};
// An item was taken back by the node that sent it, or that node is listened to no more: what was
// made of it is made anew without it. Comes before its ItemDropped. Of an own one peers are to be
// told (GossipCore::OfferWithdrawal).
struct ItemWithdrawn {
  Item item;
  bool own = false;
};
// A message had no effect. `status` has a reason of base/reasons.h or federation/reasons.h and
// names cause and remedy.
struct MessageRefused {
  LinkId link = 0;  // 0: whoever passed it on is not to blame; from 2^63 on: through a relay
  absl::Status status;
};
struct MemberChanged {
  Member member;
};
// The cluster's revocation list grew: store it durably, for SetRevocations after a restart.
struct RevocationsChanged {
  privacy::RevocationList list;
};

// Another member is known to have equivocated: store GossipCore::Evidence durably, for
// RestoreEvidence after a restart.
struct EvidenceChanged {};

using Action = std::variant<SendFrame, CloseLink, Dial, ItemAccepted, ItemDropped, ItemWithdrawn,
                            MessageRefused, MemberChanged, RevocationsChanged, EvidenceChanged>;
using Actions = std::vector<Action>;

}  // namespace ruvd::federation
