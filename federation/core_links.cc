// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Links of GossipCore: opening, frames, keep-alive, closing.

#include <algorithm>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/core_state.h"
#include "federation/limits.h"

namespace ruvd {
namespace {

// Refusals that an honest peer with the right clock and configuration never causes.
bool IsOffence(const std::string& reason) {
  return reason != reasons::kModelMismatch && reason != reasons::kFrameMismatch &&
         reason != reasons::kUpdateInvalid && reason != reasons::kWrongDimension &&
         reason != reasons::kEnvelopeExpired && reason != reasons::kCertificateExpired;
}

// Text of a peer for our logs: printable and short.
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

}  // namespace

void GossipCore::State::OpenLink(LinkId id, const std::string& dialed_address, Instant now) {
  RUVD_CHECK(id != 0 && !links.contains(id));
  const bool dialed = !dialed_address.empty();
  if (dialed) {
    dialer.OnOpened(dialed_address);
  }
  Handshake::Nonce nonce{};
  sealer.FillRandom(nonce);
  Link link{.id = id,
            .dialed_address = dialed_address,
            .handshake = Handshake(local, dialed, nonce),
            .opened = now.now,
            .last_heard = now.now,
            .last_ping = now.now,
            .frames = TokenBucket(limits::kFramesPerSecond, limits::kFrameBurst, now.now)};
  Link& kept = links.emplace(id, std::move(link)).first->second;
  if (links.size() > limits::kMaxLinks) {
    CloseWithGoaway(kept,
                    Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                          "node has {} links already; dial another member", limits::kMaxLinks),
                    now);
    return;
  }
  if (dialed) {
    outbox.Send(id, kept.handshake.Hello());
  }
}

void GossipCore::State::CloseWithGoaway(Link& link, const absl::Status& status, Instant now) {
  const LinkId id = link.id;
  outbox.Send(id, GoawayFrame(status));
  outbox.Emit(CloseLink{.link = id, .status = status});
  ForgetLink(id, /*hopeless=*/false, now);
}

void GossipCore::State::ForgetLink(LinkId id, bool hopeless, Instant now) {
  const auto found = links.find(id);
  if (found == links.end()) {
    return;
  }
  const Link link = std::move(found->second);
  links.erase(found);
  if (!link.dialed_address.empty()) {
    dialer.OnFailed(link.dialed_address, hopeless, now.now, random);
  }
  if (link.active) {
    exchange.LinkDown(id);
    if (!LinkedPeers().contains(link.peer)) {
      members.SetLink(link.peer, false, now.now);
    }
  }
}

std::set<NodeId> GossipCore::State::LinkedPeers() const {
  std::set<NodeId> peers;
  for (const auto& [id, link] : links) {
    if (link.active) {
      peers.insert(link.peer);
    }
  }
  return peers;
}

bool GossipCore::State::Refuse(Link& link, const absl::Status& status, Instant now) {
  outbox.Refuse(link.id, status);
  if (IsOffence(ReasonOf(status)) && ++link.offences > limits::kMaxOffences) {
    CloseWithGoaway(link,
                    Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                          "link carried {} messages that were refused; the last one: {}",
                          link.offences, MessageOf(status)),
                    now);
    return false;
  }
  return true;
}

void GossipCore::State::HandleFrame(Link& link, const Frame& frame, Instant now) {
  if (!link.frames.Take(now.now)) {
    const absl::Status status =
        Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
              "peer sends more than {} frames a second; slow down", limits::kFramesPerSecond);
    outbox.Refuse(link.id, status);
    CloseWithGoaway(link, status, now);
    return;
  }
  link.last_heard = now.now;
  if (frame.has_goaway()) {
    OnGoaway(link, frame.goaway(), now);
    return;
  }
  if (!link.active) {
    OnHandshakeFrame(link, frame, now);
    return;
  }
  members.Heard(link.peer, now.now);
  const LinkId id = link.id;
  const absl::Status status = OnActiveFrame(link, frame, now);
  // The frame may have closed its own link.
  if (auto found = links.find(id); !status.ok() && found != links.end()) {
    Refuse(found->second, status, now);
  }
}

void GossipCore::State::OnGoaway(Link& link, const federation::v1::Goaway& goaway, Instant now) {
  const LinkId id = link.id;
  const std::string reason =
      IsReason(goaway.reason()) ? goaway.reason() : std::string(reasons::kEnvelopeMalformed);
  const bool passing = reason == reasons::kNodeDraining || reason == reasons::kDuplicateLink ||
                       reason == reasons::kDeadlineExceeded;
  outbox.Emit(CloseLink{.link = id,
                        .status = Error(absl::StatusCode::kUnavailable, reason,
                                        "peer ended the link: {}", Printable(goaway.message()))});
  ForgetLink(id, /*hopeless=*/!passing, now);
}

void GossipCore::State::OnHandshakeFrame(Link& link, const Frame& frame, Instant now) {
  auto answer = link.handshake.OnFrame(frame, certificates, now.wall_ms);
  if (!answer.ok()) {
    for (const auto& [other_id, other] : links) {
      if (frame.has_hello() && other.handshake.dialed() &&
          other.handshake.nonce() == frame.hello().introduction().nonce()) {
        dialer.OnSelf(other.dialed_address);  // our own Hello came back
      }
    }
    const LinkId id = link.id;
    outbox.Refuse(id, answer.status());
    outbox.Send(id, GoawayFrame(answer.status()));
    outbox.Emit(CloseLink{.link = id, .status = answer.status()});
    ForgetLink(id, /*hopeless=*/true, now);
    return;
  }
  if (answer->has_value()) {
    outbox.Send(link.id, **std::move(answer));
  }
  if (link.handshake.done()) {
    Activate(link, now);
  }
}

bool GossipCore::State::KeepsNewLink(const Link& old_link, const Link& new_link) const {
  const bool same_dialer = old_link.handshake.dialed() == new_link.handshake.dialed();
  // The dialler of both has given up the old one; else the link of the smaller id stays.
  const bool we_are_smaller = local.key->id() < new_link.handshake.peer_certificate().node_id;
  return same_dialer || new_link.handshake.dialed() == we_are_smaller;
}

void GossipCore::State::Activate(Link& link, Instant now) {
  const NodeId peer = link.handshake.peer_certificate().node_id;
  if (!link.dialed_address.empty()) {
    dialer.OnIdentified(link.dialed_address, peer);
  }
  dialer.AddAddress(link.handshake.peer_address(), peer, /*silent=*/false);
  const auto twin = std::find_if(links.begin(), links.end(), [&](const auto& entry) {
    return entry.second.active && entry.second.peer == peer;
  });
  if (twin != links.end()) {
    Link& loser = KeepsNewLink(twin->second, link) ? twin->second : link;
    const bool new_one_lost = &loser == &link;
    CloseWithGoaway(loser,
                    Error(absl::StatusCode::kAlreadyExists, reasons::kDuplicateLink,
                          "both nodes dialled each other; one link stays"),
                    now);
    if (new_one_lost) {
      return;
    }
  }
  link.active = true;
  link.peer = peer;
  SendRecords(link.id, members.FreshRecords(now.wall_ms));
  members.SetLink(peer, true, now.now);
  exchange.LinkUp(link.id, link.handshake.dialed(), now);
}

void GossipCore::State::SendRecords(LinkId link, const std::vector<Envelope>& records) {
  Frame frame;
  for (const Envelope& record : records) {
    *frame.mutable_member_delta()->add_records() = ToProto(record);
    if (static_cast<size_t>(frame.member_delta().records_size()) == limits::kMaxRecordsPerFrame) {
      outbox.Send(link, std::exchange(frame, {}));
    }
  }
  if (frame.member_delta().records_size() > 0) {
    outbox.Send(link, std::move(frame));
  }
}

absl::Status GossipCore::State::OnMemberDelta(Link& link, const federation::v1::MemberDelta& delta,
                                              Instant now) {
  if (static_cast<size_t>(delta.records_size()) > limits::kMaxRecordsPerFrame) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "frame has {} member records where {} are allowed; update the sending node",
                 delta.records_size(), limits::kMaxRecordsPerFrame);
  }
  std::vector<Envelope> newer;
  for (const auto& proto : delta.records()) {
    Envelope envelope = FromProto(proto);
    const auto applied = members.Apply(envelope, now);
    if (!applied.ok()) {
      if (!Refuse(link, applied.status(), now)) {
        return absl::OkStatus();  // closed, with its reason
      }
      continue;
    }
    uint64_t& delivered = link.delivered[applied->id];
    if (applied->newer) {
      if (LinkedPeers().contains(applied->id)) {  // a first record follows its link
        members.SetLink(applied->id, true, now.now);
      }
      newer.push_back(std::move(envelope));
    } else if (applied->incarnation <= delivered) {
      if (!Refuse(link,
                  Error(absl::StatusCode::kAlreadyExists, reasons::kReplayed,
                        "member record came twice over one link; it has no effect"),
                  now)) {
        return absl::OkStatus();
      }
    } else {
      ++outbox.counters().duplicates;
    }
    delivered = std::max(delivered, applied->incarnation);
  }
  for (const auto& [id, other] : links) {
    if (other.active && id != link.id) {
      SendRecords(id, newer);
    }
  }
  return absl::OkStatus();
}

void GossipCore::State::OnAck(Link& link, uint64_t seq, TimePoint now) {
  if (seq != link.ping_seq || seq == 0) {
    return;  // late, or never asked
  }
  link.rtt = now - link.last_ping;
  members.SetRtt(link.peer, *link.rtt);
  exchange.SetRtt(link.id, *link.rtt);
}

absl::Status GossipCore::State::OnActiveFrame(Link& link, const Frame& frame, Instant now) {
  switch (frame.kind_case()) {
    case Frame::kPing: {
      Frame answer;
      answer.mutable_ack()->set_seq(frame.ping().seq());
      outbox.Send(link.id, std::move(answer));
      return absl::OkStatus();
    }
    case Frame::kAck:
      OnAck(link, frame.ack().seq(), now.now);
      return absl::OkStatus();
    case Frame::kMemberDelta:
      return OnMemberDelta(link, frame.member_delta(), now);
    case Frame::kPush:
      return exchange.OnPush(link.id, frame.push(), now);
    case Frame::kIHave: {
      const absl::Status status = exchange.OnIHave(link.id, frame.i_have());
      exchange.SendRequests(now.now);
      return status;
    }
    case Frame::kIWant:
      return exchange.OnIWant(link.id, frame.i_want());
    case Frame::kChunkRequest:
      return exchange.OnChunkRequest(link.id, frame.chunk_request());
    case Frame::kChunk:
      return exchange.OnChunk(link.id, frame.chunk(), now);
    case Frame::kReconOpen:
      return exchange.OnReconciliation(link.id, frame.recon_open(), now);
    case Frame::kReconMessage:
      return exchange.OnReconciliation(link.id, frame.recon_message(), now);
    default:
      return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                   "frame of kind {} has no place on an open link; update the sending node",
                   static_cast<int>(frame.kind_case()));
  }
}

void GossipCore::State::TickLinks(Instant now) {
  std::vector<std::pair<LinkId, absl::Status>> ending;
  for (auto& [id, link] : links) {
    if (!link.active && now.now - link.opened > limits::kHandshakeTimeout) {
      ending.emplace_back(id, Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                                    "link was not opened in time; check the peer"));
    } else if (link.active && now.now - link.last_heard > limits::kLinkTimeout) {
      ending.emplace_back(id, Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                                    "peer was silent for too long; check it and the network"));
    } else if (link.active) {
      const absl::Status valid = link.handshake.peer_certificate().CheckTime(now.wall_ms);
      if (!valid.ok()) {
        ending.emplace_back(id, valid);
      } else if (now.now - link.last_ping >= limits::kPingPeriod) {
        link.last_ping = now.now;
        Frame frame;
        frame.mutable_ping()->set_seq(++link.ping_seq);
        outbox.Send(id, std::move(frame));
      }
    }
  }
  for (const auto& [id, status] : ending) {
    CloseWithGoaway(links.at(id), status, now);
  }
}

}  // namespace ruvd
