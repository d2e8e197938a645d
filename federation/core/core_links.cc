// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Links of GossipCore: opening, frames, closing.

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/core_state.h"
#include "federation/limits.h"
#include "federation/membership/score_limits.h"
#include "federation/reasons.h"
#include "privacy/reasons.h"

namespace ruvd::federation {
namespace {

// Returns how much a refusal counts against the peer: nothing for causes that an honest peer may
// have if its clock or configuration is wrong.
double OffenceOf(const std::string& reason) {
  const bool innocent = reason == reasons::kModelMismatch || reason == reasons::kFrameMismatch ||
                        reason == reasons::kPlanMismatch || reason == reasons::kUpdateInvalid ||
                        reason == reasons::kWrongDimension || reason == reasons::kEnvelopeExpired ||
                        reason == reasons::kCertificateExpired || reason == reasons::kNodeRevoked ||
                        reason == reasons::kIssuerEnded || reason == reasons::kKeyEpochRefused ||
                        reason == reasons::kOverBudget;
  return innocent ? 0 : reason == reasons::kReplayed ? limits::kReplayWeight : 1;
}

// Makes a peer's text printable and short, for this node's logs.
std::string Printable(const std::string& text) {
  std::string out = text.substr(0, limits::kMaxGoawayText);
  std::replace_if(out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

bool IsReason(const std::string& text) {
  return !text.empty() && text.size() < 64 &&
         std::all_of(
             text.begin(), text.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

// The link stays, because patterns and members do not depend on the plan.
absl::Status OtherPlan(const std::string& peer, const Digest& plan, const Digest& own) {
  const auto name = [](const Digest& id) {
    return id == Digest{} ? std::string("no plan") : "plan " + ToHex(id).substr(0, 16);
  };
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kPlanMismatch,
               "{} learns by {}, and this node by {}, so neither uses the other's contributions; "
               "set the keys of the section federation alike on all nodes",
               peer, name(plan), name(own));
}

}  // namespace

GossipCore::State::Link& GossipCore::State::AddLink(LinkId id, bool dialed,
                                                    const Handshake::Nonce& nonce,
                                                    LinkChannel channel, Instant now) {
  const std::array<uint8_t, 16> source = channel.source;
  auto handshake = std::make_unique<Handshake>(local, dialed, nonce, std::move(channel));
  handshake->Announce(own_revocations);
  Link link{
      .id = id,
      .dialed_address = "",
      .handshake = std::move(handshake),
      .dialed = dialed,
      .certificate = {},
      .opened = now.now,
      .frames = TokenBucket(limits::kFramesPerSecond, limits::kFrameBurst, now.now),
      .recon = TokenBucket(limits::kReconPerSecond, limits::kReconBurst, now.now),
      .revocation_parts =
          TokenBucket(limits::kRevocationPartsPerSecond, limits::kRevocationPartBurst, now.now),
      .circuits = TokenBucket(limits::kCircuitsPerSecond, limits::kCircuitBurst, now.now),
      .strays = TokenBucket(limits::kStrayFramesPerSecond, limits::kStrayFrameBurst, now.now)};
  link.source = source;
  link.announced_revocations = own_revocations.number;
  return links.emplace(id, std::move(link)).first->second;
}

void GossipCore::State::OpenLink(LinkId id, const std::string& dialed_address, LinkChannel channel,
                                 Instant now) {
  RUVD_CHECK(id != 0 && !RelayedLinks::IsRelayed(id) && !links.contains(id));
  const bool dialed = !dialed_address.empty();
  if (dialed) {
    dialer.OnOpened(dialed_address);
  }
  Handshake::Nonce nonce{};
  sealer.FillRandom(nonce);
  bool room = true;
  if (dialed) {
    room = MakeRoomForLink(now);
  } else {
    MakeRoomForHalfOpenLink(now);
  }
  Link& kept = AddLink(id, dialed, nonce, std::move(channel), now);
  kept.dialed_address = dialed_address;
  if (!room) {
    CloseCrowded(kept, now);
    return;
  }
  if (leaving) {
    CloseDraining(kept, now);
    return;
  }
  if (dialed) {
    outbox.Send(id, kept.handshake->Hello());
  }
}

void GossipCore::State::CloseWithGoaway(Link& link, const absl::Status& status, Instant now) {
  const LinkId id = link.id;
  outbox.Send(id, GoawayFrame(status));
  outbox.Emit(CloseLink{.link = id, .status = status});
  ForgetLink(id, /*hopeless=*/false, /*lost=*/false, now);
}

void GossipCore::State::ForgetLink(LinkId id, bool hopeless, bool lost, Instant now) {
  const auto found = links.find(id);
  if (found == links.end()) {
    return;
  }
  const Link link = std::move(found->second);
  links.erase(found);
  OnLinkForgotten(link, now.now);
  revocation_fetcher.LinkDown(id);
  evidence_backlog.LinkDown(id);  // a link that waits for a list has some, too
  if (!link.dialed_address.empty()) {
    dialer.OnFailed(link.dialed_address, hopeless, now.now, random);
  }
  if (!link.active) {
    return;
  }
  exchange.LinkDown(id);
  scores.LinkDown(id);
  certificates.budget().LinkDown(id);
  accusation_backlog.LinkDown(id);
  mesh.LinkDown(id);
  detector.LinkDown(id, lost, now.now);
  states.LinkDown(link.peer);
  if (const auto current = link_of.find(link.peer);
      current != link_of.end() && current->second == id) {
    link_of.erase(current);
    members.SetLink(link.peer, false, now.now);
  }
}

bool GossipCore::State::Refuse(Link& link, const absl::Status& status, Instant now) {
  if (ReasonOf(status) == reasons::kBusy) {
    ++outbox.counters()
          .refused[reasons::kBusy];  // only counted, because there are too many already
    return true;
  }
  outbox.Refuse(link.id, status);
  if (const double weight = OffenceOf(ReasonOf(status)); weight > 0) {
    scores.Invalid(link.id, weight);
  }
  return !CloseIfGraylisted(link.id, now);
}

void GossipCore::State::HandleFrame(Link& link, const WireFrame& frame, Instant now) {
  const bool awaited = link.active && exchange.Awaits(link.id, frame);
  if (!awaited && !BelongsToCircuit(link, frame, now.now) && !link.frames.Take(now.now)) {
    const absl::Status status =
        Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
              "peer sends more than {} frames a second; slow down", limits::kFramesPerSecond);
    ++outbox.counters().limits.frames;
    outbox.Refuse(link.id, status);
    scores.RecordMisbehaviour(link.id, limits::kFloodWeight);
    CloseWithGoaway(link, status, now);
    return;
  }
  if (frame.has_goaway()) {
    OnGoaway(link, frame.goaway(), now);
    return;
  }
  if (link.waits_for_list) {
    OnWaitingFrame(link, frame, now);
    return;
  }
  if (!link.active) {
    OnHandshakeFrame(link, frame, now);
    return;
  }
  members.OnFrameReceived(link.peer, now.now);
  detector.OnFrameReceived(link.id, now.now);
  const LinkId id = link.id;
  certificates.budget().Charge(id, awaited, now.now);
  const absl::Status status = OnActiveFrame(link, frame, now);
  certificates.budget().Charge(/*link=*/0, /*awaited=*/false, now.now);
  // The frame may have closed its own link.
  if (auto found = links.find(id); !status.ok() && found != links.end()) {
    Refuse(found->second, status, now);
  }
  CloseIfGraylisted(id, now);
}

void GossipCore::State::OnGoaway(Link& link, const v1::Goaway& goaway, Instant now) {
  const LinkId id = link.id;
  if (goaway.drain_ms() > 0 && link.active) {
    OnPeerDrains(link, std::chrono::milliseconds(goaway.drain_ms()), now);
    return;
  }
  const std::string reason =
      IsReason(goaway.reason()) ? goaway.reason() : std::string(reasons::kEnvelopeMalformed);
  // The peer refused the earlier certificate, and this node has a new one by now.
  const bool renewed =
      (reason == reasons::kCertificateExpired && local.certificate.CheckTime(now.wall_ms).ok()) ||
      (reason == reasons::kIssuerEnded && certificates.Require(local.certificate).ok());
  const bool passing = renewed || reason == reasons::kNodeDraining ||
                       reason == reasons::kDuplicateLink || reason == reasons::kDeadlineExceeded ||
                       reason == reasons::kLinkIdle || reason == reasons::kLimitExceeded ||
                       reason == reasons::kRevocationStale;
  outbox.Emit(CloseLink{.link = id,
                        .status = Error(absl::StatusCode::kUnavailable, reason,
                                        "peer ended the link: {}", Printable(goaway.message()))});
  link.excused = true;
  ForgetLink(id, /*hopeless=*/!passing, /*lost=*/false, now);
}

void GossipCore::State::OnHandshakeFrame(Link& link, const WireFrame& frame, Instant now) {
  auto answer = link.handshake->OnFrame(frame, certificates, now.wall_ms);
  if (!answer.ok()) {
    if (frame.has_hello() && ReasonOf(answer.status()) == reasons::kDuplicateLink) {
      NoteOwnHello(frame.hello().introduction().nonce(), now);
    }
    const LinkId id = link.id;
    outbox.Refuse(id, answer.status());
    outbox.Send(id, GoawayFrame(answer.status()));
    outbox.Emit(CloseLink{.link = id, .status = answer.status()});
    ForgetLink(id, /*hopeless=*/true, /*lost=*/false, now);
    return;
  }
  if (answer->has_value()) {
    outbox.Send(link.id, **std::move(answer));
  }
  if (link.handshake->done()) {
    Activate(link, now);
  }
}

// The node received its own Hello. A machine between it and a peer can send it back, too; over TLS
// that machine does not have the node's certificate.
void GossipCore::State::NoteOwnHello(const std::string& nonce, Instant now) {
  for (const auto& [id, link] : links) {
    if (link.dialed && link.handshake && link.handshake->nonce() == nonce &&
        link.handshake->LeadsToItself()) {
      dialer.OnSelf(link.dialed_address, now.now);
    }
  }
}

bool GossipCore::State::PrefersNewLink(const Link& old_link, const Link& new_link,
                                       const privacy::NodeId& peer) const {
  if (old_link.relayed != new_link.relayed) {
    return old_link.relayed;  // a direct link needs no relay
  }
  const bool same_dialer = old_link.dialed == new_link.dialed;
  // If both links have the same dialler, it has given up the old one; otherwise the link dialled by
  // the node with the smaller id stays.
  const bool we_are_smaller = local.key->id() < peer;
  return same_dialer || new_link.dialed == we_are_smaller;
}

bool GossipCore::State::ResolveDuplicate(Link& link, const privacy::NodeId& peer, Instant now) {
  const auto twin = link_of.find(peer);
  if (twin == link_of.end()) {
    return true;
  }
  Link& old_link = links.at(twin->second);
  const bool keeps_new = PrefersNewLink(old_link, link, peer);
  CloseWithGoaway(keeps_new ? old_link : link,
                  Error(absl::StatusCode::kAlreadyExists, reasons::kDuplicateLink,
                        "both nodes dialled each other; one link stays"),
                  now);
  return keeps_new;
}

void GossipCore::State::LinkUp(Link& link, const privacy::NodeId& peer, Instant now) {
  link.active = true;
  link.waits_for_list = false;
  link.peer = peer;
  link.certificate = link.handshake->peer_certificate();
  link.relays = link.handshake->peer_relays();
  link.same_plan = link.handshake->peer_plan() == local.plan_id;
  link.handshake.reset();
  link_of[peer] = link.id;
  members.SetLink(peer, true, now.now);
  detector.LinkUp(link.id, peer, now.now);
  mesh.LinkUp(link.id, peer, link.dialed, link.source, now.now);
  exchange.LinkUp(link.id, link.same_plan);
  scores.LinkUp(link.id, peer);
  certificates.budget().LinkUp(link.id);
}

void GossipCore::State::Activate(Link& link, Instant now) {
  const privacy::NodeId peer = link.handshake->peer_certificate().node_id;
  if (link.relayed) {
    if (const absl::Status secured = SecureRelayed(link); !secured.ok()) {
      outbox.Refuse(/*link=*/0, secured);
      link.failed = true;
      CloseWithGoaway(link, secured, now);
      return;
    }
    link.excused = true;
    ++outbox.counters().links_relayed;
  }
  if (link.dialed) {
    link.purpose = link.relayed ? relay_planner.OnOpened(peer)
                                : dialer.OnIdentified(link.dialed_address, peer);
  }
  if (CloseUnwelcome(link, now)) {
    return;
  }
  revocation_fetcher.OnNotice(link.id, link.handshake->peer_revocations(), now.now);
  if (certificates.RequireFresh(max_stale, now.wall_ms).ok()) {
    Join(link, now);
  } else {
    WaitForRevocations(link, now);
  }
}

bool GossipCore::State::CloseUnwelcome(Link& link, Instant now) {
  const privacy::AdmissionCert& peer = link.handshake->peer_certificate();
  if (Graylisted(peer.node_id)) {
    CloseGraylisted(link, now);
    return true;
  }
  const absl::Status may = certificates.Require(peer);  // the list may have changed since the Hello
  if (!may.ok()) {
    CloseWithGoaway(link, may, now);
  }
  return !may.ok();
}

void GossipCore::State::Join(Link& link, Instant now) {
  const privacy::NodeId peer = link.handshake->peer_certificate().node_id;
  if (!ResolveDuplicate(link, peer, now)) {
    return;
  }
  if (link.half_open() && !MakeRoomForLink(now)) {
    CloseCrowded(link, now);
    return;
  }
  const Digest plan = link.handshake->peer_plan();
  LinkUp(link, peer, now);
  if (!link.relayed) {
    outbox.Emit(LinkIdentified{link.id});
  }
  if (!link.same_plan) {
    outbox.Refuse(/*link=*/0, OtherPlan(link.certificate.name, plan, local.plan_id));
  }
  if (own_revocations.number > link.announced_revocations) {
    outbox.Send(link.id, RevocationNoticeFrame());  // it came while this link was being opened
  }
  FetchRevocations(now);
  GreetMember(link);
  const bool neighbour = link.purpose == DialPurpose::kMesh || link.purpose == DialPurpose::kHeal;
  if (link.dialed && neighbour && mesh.links().size() < limits::kMeshHigh &&
      scores.ScoreOfLink(link.id) >= 0) {
    JoinMesh(link, now);
  }
  if (link.dialed && link.purpose != DialPurpose::kCheck) {  // one of both sides is enough
    StartReconciliation(link);
  }
}

void GossipCore::State::OnAck(Link& link, uint64_t seq, TimePoint now) {
  if (const auto rtt = detector.OnAck(link.id, seq, now)) {
    members.SetRtt(link.peer, *rtt);
    exchange.OnAnswer(link.id, now - *rtt);
    exchange.SetRtt(link.id, *rtt);
  }
}

absl::Status GossipCore::State::OnRepeatedOpening(const Link& link, const WireFrame& frame) {
  // The network may deliver a frame twice. By now the frame that the peer's side sends was checked.
  if (link.dialed == frame.has_hello_ack()) {
    ++outbox.counters().duplicates;
    return absl::OkStatus();
  }
  return UnexpectedFrame(frame);
}

absl::Status GossipCore::State::UnexpectedFrame(const WireFrame& frame) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
               "frame of kind {} is not allowed on an open link; update the sending node",
               static_cast<int>(frame.kind_case()));
}

absl::Status GossipCore::State::OnActiveFrame(Link& link, const WireFrame& frame, Instant now) {
  switch (frame.kind_case()) {
    case WireFrame::kHello:
    case WireFrame::kHelloAck:
    case WireFrame::kHelloProof:
      return OnRepeatedOpening(link, frame);
    case WireFrame::kPing:
      return OnPing(link, frame.ping());
    case WireFrame::kAck:
      OnAck(link, frame.ack().seq(), now.now);
      return absl::OkStatus();
    case WireFrame::kPush: {
      if (leaving) {
        return absl::OkStatus();  // a leaving node begins nothing new
      }
      mesh.Touch(link.id, now.now);
      const absl::Status status = exchange.OnPush(link.id, frame.push(), now);
      Convict(exchange.TakeConvictions(), now);
      return status;
    }
    case WireFrame::kIHave: {
      if (leaving) {
        return absl::OkStatus();
      }
      const absl::Status status = exchange.OnIHave(link.id, frame.i_have());
      exchange.SendRequests(now.now);
      return status;
    }
    case WireFrame::kIWant:
      return exchange.OnIWant(link.id, frame.i_want(), now);
    case WireFrame::kChunkRequest:
      last_served = now.now;
      mesh.Touch(link.id, now.now);
      return exchange.OnChunkRequest(link.id, frame.chunk_request(), now);
    case WireFrame::kChunk:
      mesh.Touch(link.id, now.now);
      return exchange.OnChunk(link.id, frame.chunk(), now);
    case WireFrame::kReconOpen:
      return OnReconciliation(link, frame.recon_open(), now);
    case WireFrame::kReconMessage:
      return OnReconciliation(link, frame.recon_message(), now);
    default:
      return OnMemberFrame(link, frame, now);
  }
}

absl::Status GossipCore::State::OnMemberFrame(Link& link, const WireFrame& frame, Instant now) {
  switch (frame.kind_case()) {
    case WireFrame::kMemberDelta:
      return OnMemberDelta(link, frame.member_delta(), now);
    case WireFrame::kPingRequest:
      return OnPingRequest(link, frame.ping_request(), now);
    case WireFrame::kNack:
      detector.OnNack(link.id, frame.nack().seq());
      return absl::OkStatus();
    case WireFrame::kSuspicions:
      return OnSuspicions(link, frame.suspicions(), now);
    case WireFrame::kMemberWant:
      return OnMemberWant(link, frame.member_want());
    case WireFrame::kGraft:
      return OnGraft(link, now);
    case WireFrame::kPrune:
      return OnPrune(link, frame.prune(), now);
    case WireFrame::kEvidence:
      return OnEvidence(link, frame.evidence(), now);
    case WireFrame::kRevocationNotice:
    case WireFrame::kRevocationsWant:
    case WireFrame::kRevocations:
      return OnRevocationFrame(link, frame, now);
    default:
      return OnCircuitFrame(link, frame, now);
  }
}

void GossipCore::State::TickLinks(Instant now) {
  TickDrain(now);
  std::vector<std::pair<LinkId, absl::Status>> ending;
  for (auto& [id, link] : links) {
    if (link.waits_for_list) {
      continue;  // TickRevocations ends it
    }
    if (!link.active && now.now - link.opened > limits::kHandshakeTimeout) {
      ending.emplace_back(id, Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                                    "link was not opened in time; check the peer"));
    } else if (link.active && now.now - detector.last_heard(id) > limits::kLinkTimeout) {
      ending.emplace_back(id, Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                                    "peer was silent for too long; check it and the network"));
    } else if (link.active && detector.IsAckOverdue(id, now.now)) {
      ending.emplace_back(id,
                          Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                                "peer sends frames but answers no ping; check it and the network"));
    } else if (link.active) {
      absl::Status valid = link.certificate.CheckTime(now.wall_ms);
      valid.Update(certificates.Require(link.certificate));
      if (!valid.ok()) {
        ending.emplace_back(id, valid);
      }
    }
  }
  for (const auto& [id, status] : ending) {
    Link& link = links.at(id);
    link.failed = ReasonOf(status) == reasons::kDeadlineExceeded && (link.active || link.dialed);
    CloseWithGoaway(link, status, now);
  }
}

}  // namespace ruvd::federation
