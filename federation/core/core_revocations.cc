// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// How a GossipCore learns which members are revoked, and passes this on.

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/core_state.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "privacy/reasons.h"

namespace ruvd::federation {

void GossipCore::State::CloseRevoked(Link& link, Instant now) {
  CloseWithGoaway(
      link,
      Error(absl::StatusCode::kPermissionDenied, reasons::kNodeRevoked,
            "this node was revoked by the cluster's authority; it needs a new identity and a new "
            "certificate"),
      now);
}

std::string GossipCore::State::AnnouncedRevocations() const {
  if (certificates.revocations().number == 0) {
    return "";
  }
  std::string list = certificates.revocations().Encode();
  return list.size() <= limits::kMaxAnnouncedRevocationBytes ? list : "";
}

absl::Status GossipCore::State::ApplyRevocationList(const privacy::RevocationList& list,
                                                    LinkId from, Instant now) {
  if (list == certificates.revocations()) {
    return absl::OkStatus();
  }
  const privacy::RevocationList former = certificates.revocations();
  RETURN_IF_ERROR(certificates.Revoke(list));
  outbox.Emit(RevocationsChanged{list});
  ExpelRevoked(former);
  for (const privacy::NodeId& id : members.EndSuspicionsOfRevoked()) {
    const RecordPtr* record = members.records().Find(id);
    if (IsLinked(id) || (record != nullptr && !NeedsRelay(**record, now))) {
      detector.Check(id, members.alive(), now.now);
    }
  }
  std::vector<LinkId> revoked;
  for (const auto& [peer, link] : link_of) {
    if (list.Revokes(peer)) {
      revoked.push_back(link);
    }
  }
  for (const LinkId id : revoked) {
    CloseRevoked(links.at(id), now);
  }
  ForwardRevocations(from);
  return absl::OkStatus();
}

// A list may name many nodes that this node never heard of, so only nodes that sent something are
// checked.
void GossipCore::State::ExpelRevoked(const privacy::RevocationList& former) {
  const privacy::RevocationList& list = certificates.revocations();
  std::set<privacy::NodeId> senders;
  for (const Member& member : members.Members()) {
    senders.insert(member.id);
  }
  for (const auto& [id, item] : exchange.items()) {
    senders.insert(item.origin);
  }
  senders.erase(local.key->id());
  for (const privacy::NodeId& id : senders) {
    if (list.Revokes(id) && !former.Revokes(id)) {
      exchange.Expel(id);
    }
  }
}

void GossipCore::State::SendRevocations(const Link& link) {
  WireFrame frame;
  frame.mutable_revocations()->set_list(AnnouncedRevocations());
  if (!frame.revocations().list().empty()) {
    outbox.Send(link.id, std::move(frame));
  }
}

// Sends to all links, not only to the mesh, because a revoked member may be the one that would have
// to pass the list on.
void GossipCore::State::ForwardRevocations(LinkId except) {
  WireFrame frame;
  frame.mutable_revocations()->set_list(AnnouncedRevocations());
  if (frame.revocations().list().empty()) {
    return;
  }
  const auto shared = std::make_shared<const WireFrame>(std::move(frame));
  for (const auto& [peer, link] : link_of) {
    if (link != except) {
      outbox.Send(link, shared);
    }
  }
}

bool GossipCore::State::ReceiveRevocationList(LinkId id, const std::string& bytes, Instant now) {
  if (bytes.empty()) {
    return true;
  }
  const absl::StatusOr<privacy::RevocationList> list =
      privacy::RevocationList::Parse(AsBytes(bytes));
  if (!list.ok() || list->number > certificates.revocations().number) {
    const absl::Status status = list.ok() ? ApplyRevocationList(*list, id, now) : list.status();
    if (!status.ok()) {
      outbox.Refuse(id, status);
    }
  }
  return links.contains(id);
}

absl::Status GossipCore::State::OnRevocations(Link& link, const std::string& bytes, Instant now) {
  if (bytes.size() > limits::kMaxAnnouncedRevocationBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "revocation list of {} bytes where {} are allowed; update the sending node",
                 bytes.size(), limits::kMaxAnnouncedRevocationBytes);
  }
  ASSIGN_OR_RETURN(const privacy::RevocationList list,
                   privacy::RevocationList::Parse(AsBytes(bytes)));
  if (list.number <= certificates.revocations().number) {
    ++outbox.counters().duplicates;
    return absl::OkStatus();
  }
  if (const absl::Status paid = certificates.TakeCheck(); !paid.ok()) {
    link.revocations = bytes;  // it is not sent again over this link
    return paid;
  }
  link.revocations.clear();
  RETURN_IF_ERROR(list.Verify(certificates.issuer()));
  // The list is signed by the authority, so the peer that passed it on is not to blame for an error
  // in it.
  if (const absl::Status taken = ApplyRevocationList(list, link.id, now); !taken.ok()) {
    outbox.Refuse(/*link=*/0, taken);
  }
  return absl::OkStatus();
}

void GossipCore::State::RetryRevocations(Instant now) {
  std::vector<LinkId> waiting;
  for (const auto& [id, link] : links) {
    if (!link.revocations.empty()) {
      waiting.push_back(id);
    }
  }
  for (const LinkId id : waiting) {
    const auto found = links.find(id);
    if (found == links.end()) {
      continue;  // revoked in the meantime
    }
    certificates.budget().Charge(id, /*awaited=*/false, now.now);
    const std::string bytes = std::exchange(found->second.revocations, "");
    const absl::Status status = OnRevocations(found->second, bytes, now);
    certificates.budget().Charge(/*link=*/0, /*awaited=*/false, now.now);
    if (!status.ok() && ReasonOf(status) != reasons::kBusy && links.contains(id)) {
      Refuse(links.at(id), status, now);
    }
  }
}

}  // namespace ruvd::federation
