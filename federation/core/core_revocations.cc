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

absl::Status GossipCore::State::ApplyRevocationList(const privacy::RevocationList& list,
                                                    LinkId from, Instant now) {
  if (list == certificates.revocations()) {
    return absl::OkStatus();
  }
  const privacy::RevocationList former = certificates.revocations();
  RETURN_IF_ERROR(certificates.Revoke(list));
  if (list.issuer.least > former.issuer.least) {
    ExpelOfEndedIssuers();
  }
  encoded_revocations = list.Encode();
  own_revocations = NoticeOf(list.number, encoded_revocations);
  outbox.Emit(RevocationsChanged{list});
  ExpelRevoked(former);
  for (const privacy::NodeId& id : members.EndSuspicionsOfRevoked()) {
    const RecordPtr* record = members.records().Find(id);
    if (IsLinked(id) || (record != nullptr && !NeedsRelay(**record, now))) {
      detector.Check(id, members.alive(), now.now);
    }
  }
  CloseExcluded(now);
  ForwardRevocations(from);
  SettleWaiting(now);
  return absl::OkStatus();
}

void GossipCore::State::CloseExcluded(Instant now) {
  std::vector<std::pair<LinkId, absl::Status>> excluded;
  for (const auto& [peer, id] : link_of) {
    if (absl::Status may = certificates.Require(links.at(id).certificate); !may.ok()) {
      excluded.emplace_back(id, std::move(may));
    }
  }
  for (const auto& [id, why] : excluded) {
    CloseWithGoaway(links.at(id), why, now);
  }
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
  exchange.DropOfEndedKeys();
}

// What nodes sent with certificates of issuers that are ended now counts no more.
void GossipCore::State::ExpelOfEndedIssuers() {
  std::set<privacy::NodeId> ended;
  for (const auto& [id, item] : exchange.items()) {
    const auto certificate = privacy::AdmissionCert::Parse(
        AsBytes(item.envelope->body).first(privacy::AdmissionCert::kBytes));
    if (certificate.ok() && certificate->issuer.number < certificates.least_issuer()) {
      ended.insert(item.origin);
    }
  }
  ended.erase(local.key->id());
  for (const privacy::NodeId& id : ended) {
    exchange.Expel(id);
  }
  // A thief of an issuer's key may have spoken for any member, with any number.
  exchange.ForgetNumbers();
  if (evidence.DropOfEndedIssuers()) {
    outbox.Emit(EvidenceChanged{});
  }
}

absl::Status GossipCore::State::LearnIssuer(const privacy::IssuerCert& issuer, Instant now) {
  ASSIGN_OR_RETURN(const bool news, certificates.Learn(issuer));
  if (news) {
    ExpelOfEndedIssuers();
    CloseExcluded(now);
  }
  return absl::OkStatus();
}

v1::WireFrame GossipCore::State::RevocationNoticeFrame() const {
  WireFrame frame;
  *frame.mutable_revocation_notice() = ToProto(own_revocations);
  return frame;
}

// Sends to all links, not only to the mesh, because a revoked member may be the one that would have
// to pass the list on.
void GossipCore::State::ForwardRevocations(LinkId except) {
  const auto frame = std::make_shared<const WireFrame>(RevocationNoticeFrame());
  for (const auto& [peer, link] : link_of) {
    if (link != except) {
      outbox.Send(link, frame);
    }
  }
}

void GossipCore::State::FetchRevocations(Instant now) {
  for (RevocationFetcher::Request& request :
       revocation_fetcher.Begin(own_revocations.number, now.now)) {
    outbox.Send(request.link, std::move(request.frame));
  }
}

absl::Status GossipCore::State::OnRevocationFrame(Link& link, const WireFrame& frame, Instant now) {
  switch (frame.kind_case()) {
    case WireFrame::kRevocationNotice: {
      ASSIGN_OR_RETURN(const RevocationNotice notice, NoticeFrom(frame.revocation_notice()));
      revocation_fetcher.OnNotice(link.id, notice, now.now);
      FetchRevocations(now);
      return absl::OkStatus();
    }
    case WireFrame::kRevocationsWant:
      return OnRevocationsWant(link, frame.revocations_want(), now);
    default:
      return OnRevocations(link, frame.revocations(), now);
  }
}

absl::Status GossipCore::State::OnRevocationsWant(Link& link, const v1::RevocationsWant& want,
                                                  Instant now) {
  if (!link.revocation_parts.Take(now.now)) {
    ++outbox.counters().limits.revocation_parts;
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "parts of the revocation list are asked for faster than a node needs them; update "
                 "the asking node");
  }
  if (own_revocations.number == 0 || want.hash() != AsText(own_revocations.hash)) {
    outbox.Send(link.id, RevocationNoticeFrame());  // that list was replaced by a newer one
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(WireFrame part, PartOf(encoded_revocations, want));
  outbox.Send(link.id, std::move(part));
  return absl::OkStatus();
}

absl::Status GossipCore::State::OnRevocations(Link& link, const v1::Revocations& part,
                                              Instant now) {
  ASSIGN_OR_RETURN(RevocationFetcher::Taken taken,
                   revocation_fetcher.OnPart(link.id, part, now.now));
  if (taken.next) {
    outbox.Send(taken.next->link, std::move(taken.next->frame));
  } else if (taken.list) {
    return TakeRevocations(link.id, *taken.list, taken.number, now);
  } else {
    ++outbox.counters().duplicates;
  }
  return absl::OkStatus();
}

absl::Status GossipCore::State::TakeRevocations(LinkId link, const std::string& bytes,
                                                uint64_t number, Instant now) {
  if (number <= own_revocations.number) {
    return absl::OkStatus();
  }
  if (absl::Status paid = certificates.TakeCheck(); !paid.ok()) {
    revocation_fetcher.Postpone(link, now.now);
    return paid;
  }
  const absl::StatusOr<privacy::RevocationList> list = CheckRevocations(bytes, number);
  if (!list.ok()) {
    revocation_fetcher.Failed(link, now.now);
    return list.status();
  }
  // The list is signed by the authority, so the peer that passed it on is not to blame for an error
  // in it.
  absl::Status taken =
      list->issued_ms > now.wall_ms + limits::kRevocationAheadMillis
          ? Error(
                absl::StatusCode::kInvalidArgument, reasons::kRevocationInvalid,
                "revocation list {} is dated {} h ahead of this node's clock; check the clocks of "
                "this node and of the node with the authority's key",
                list->edition(), (list->issued_ms - now.wall_ms) / 3'600'000)
          : ApplyRevocationList(*list, link, now);
  if (!taken.ok()) {
    revocation_fetcher.Failed(link, now.now);
    outbox.Refuse(/*link=*/0, taken);
  }
  return absl::OkStatus();
}

absl::StatusOr<privacy::RevocationList> GossipCore::State::CheckRevocations(
    const std::string& bytes, uint64_t number) const {
  ASSIGN_OR_RETURN(privacy::RevocationList list, privacy::RevocationList::Parse(AsBytes(bytes)));
  RETURN_IF_ERROR(list.Verify(certificates.root()));
  if (list.number != number) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "revocation list {} was named as list {}; update the sending node", list.number,
                 number);
  }
  return list;
}

void GossipCore::State::WaitForRevocations(Link& link, Instant now) {
  if (!revocation_fetcher.Offers(link.id, own_revocations.number)) {
    CloseStale(link, now);
    return;
  }
  if (link.half_open() && !MakeRoomForLink(now)) {
    CloseCrowded(link, now);
    return;
  }
  link.waits_for_list = true;
  link.waits_since = now.now;
  if (!link.relayed) {
    outbox.Emit(LinkIdentified{link.id});  // a long list exceeds what a stranger may send
  }
  FetchRevocations(now);
}

void GossipCore::State::CloseStale(Link& link, Instant now) {
  const absl::Status stale = certificates.RequireFresh(max_stale, now.wall_ms);
  outbox.Refuse(/*link=*/0, stale);
  CloseWithGoaway(link, stale, now);
}

void GossipCore::State::OnWaitingFrame(Link& link, const WireFrame& frame, Instant now) {
  const auto kind = frame.kind_case();
  if (kind == WireFrame::kPing) {
    WireFrame answer;  // the peer would take silence for a failure
    answer.mutable_ack()->set_seq(frame.ping().seq());
    outbox.Send(link.id, std::move(answer));
    return;
  }
  if (kind == WireFrame::kEvidence) {
    for (const v1::EquivocationProof& proof : frame.evidence().proofs()) {
      KeepProof(link.id, proof);  // it is sent once over a link
    }
    return;
  }
  if (kind != WireFrame::kRevocationNotice && kind != WireFrame::kRevocations &&
      kind != WireFrame::kRevocationsWant) {
    ++outbox.counters().refused[reasons::kRevocationStale];
    return;
  }
  const LinkId id = link.id;
  const absl::Status status = OnRevocationFrame(link, frame, now);
  if (const auto found = links.find(id); !status.ok() && found != links.end()) {
    outbox.Refuse(id, status);
    CloseWithGoaway(found->second, status, now);
  }
}

void GossipCore::State::SettleWaiting(Instant now) {
  const bool fresh = certificates.RequireFresh(max_stale, now.wall_ms).ok();
  std::vector<LinkId> settled;
  for (const auto& [id, link] : links) {
    const bool over = !revocation_fetcher.Offers(id, own_revocations.number) ||
                      now.now - link.waits_since >= limits::kRevocationWait;
    if (link.waits_for_list && (fresh || over)) {
      settled.push_back(id);
    }
  }
  for (const LinkId id : settled) {
    const auto found = links.find(id);
    if (found == links.end()) {
      continue;  // it was the other link of a pair
    }
    if (!fresh) {
      CloseStale(found->second, now);
    } else if (!CloseUnwelcome(found->second, now)) {
      Join(found->second, now);
    }
  }
}

void GossipCore::State::TickRevocations(Instant now) {
  for (const LinkId id : revocation_fetcher.GiveUp(now.now)) {
    outbox.Refuse(id, Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                            "peer does not send the revocation list that it named; check it and "
                            "the network"));
  }
  FetchRevocations(now);
  SettleWaiting(now);
}

}  // namespace ruvd::federation
