// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Links of GossipCore that run through a neighbour, and those that it carries for others.

#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/host_port.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/core_state.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

using v1::WireFrame;

WireFrame CloseFrame(uint32_t circuit, const absl::Status& status) {
  const WireFrame goaway = GoawayFrame(status);
  WireFrame frame;
  frame.mutable_relay_close()->set_circuit(circuit);
  frame.mutable_relay_close()->set_reason(goaway.goaway().reason());
  frame.mutable_relay_close()->set_message(goaway.goaway().message());
  return frame;
}

absl::Status NoRelay(std::string_view why) {
  return Error(absl::StatusCode::kUnavailable, reasons::kNoRelay, "{}; ask another neighbour", why);
}

absl::Status LostLink() {
  return Error(absl::StatusCode::kUnavailable, reasons::kRelayBroken,
               "relay lost its link to the other node, or that node ended the circuit; the link is "
               "opened again by another way");
}

}  // namespace

Actions GossipCore::State::TakeActions() {
  WrapRelayed();
  return outbox.Take();
}

void GossipCore::State::WrapRelayed() {
  std::erase_if(outbox.pending(), [this](Action& action) {
    if (auto* send = std::get_if<SendFrame>(&action);
        send != nullptr && RelayedLinks::IsRelayed(send->link)) {
      const auto circuit = relayed.CircuitOf(send->link);
      auto wrapped = relayed.Wrap(send->link, *send->frame);
      if (!wrapped) {
        return true;
      }
      *send = {.link = circuit->link,
               .frame = std::make_shared<const WireFrame>(*std::move(wrapped))};
      return false;
    }
    if (auto* close = std::get_if<CloseLink>(&action);
        close != nullptr && RelayedLinks::IsRelayed(close->link)) {
      const auto circuit = relayed.CircuitOf(close->link);
      relayed.Remove(close->link);
      if (circuit) {
        action = SendFrame{.link = circuit->link,
                           .frame = std::make_shared<const WireFrame>(
                               CloseFrame(circuit->circuit, close->status))};
      }
      return !circuit.has_value();
    }
    return false;
  });
}

bool GossipCore::State::MayDial(const std::string& address) const {
  const auto stated = ParseHostPort(address);
  if (!stated) {
    return false;
  }
  const HostReach reach = ReachOf(stated->host);
  const auto own = ParseHostPort(local.listen_address);
  if (reach == HostReach::kThisMachine) {
    return own && IsLoopback(own->host);  // and not the unspecified address, which others reach
  }
  return reach == HostReach::kAnywhere ||
         (reach == HostReach::kThisLine && own && ReachOf(own->host) == reach);
}

bool GossipCore::State::NeedsRelay(const SignedRecord& record, Instant now) const {
  return !MayDial(record.record.address) || dialer.Unreachable(record.record.address, now.now);
}

bool GossipCore::State::IsLinkedByRelay(const privacy::NodeId& id) const {
  const auto link = link_of.find(id);
  return link != link_of.end() && RelayedLinks::IsRelayed(link->second);
}

absl::Status GossipCore::State::CheckRelayCapacity(LinkId carrier) const {
  if (CountedLinks() >= limits::kMaxLinks || relayed.size() >= limits::kMaxRelayedLinks ||
      relayed.CountOver(carrier) >= limits::kMaxRelayedLinksOfRelay) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "node has {} links through relays, {} through this one; dial another member, or "
                 "this one another way",
                 relayed.size(), relayed.CountOver(carrier));
  }
  return absl::OkStatus();
}

std::vector<privacy::NodeId> GossipCore::State::Relays() const {
  std::vector<privacy::NodeId> relays;
  for (const auto& [peer, id] : link_of) {
    const Link& link = links.at(id);
    if (link.relays && !link.relayed && !link.drains_until && CheckRelayCapacity(id).ok()) {
      relays.push_back(peer);
    }
  }
  return relays;
}

bool GossipCore::State::AskRelay(const privacy::NodeId& target, DialPurpose purpose, Instant now) {
  return !leaving && !IsLinked(target) && !Relays().empty() &&
         relay_planner.Begin(target, purpose, now.now) && AskNextRelay(target, now);
}

bool GossipCore::State::AskNextRelay(const privacy::NodeId& target, Instant now) {
  const auto relay = relay_planner.Next(target, Relays(), now.now, random);
  if (!relay) {
    return false;
  }
  Link& carrier = links.at(link_of.at(*relay));
  const CircuitEnd end = {.link = carrier.id, .circuit = NextCircuit(carrier)};
  WireFrame open;
  open.mutable_relay_open()->set_circuit(end.circuit);
  open.mutable_relay_open()->set_source(std::string(AsText(local.key->id())));
  open.mutable_relay_open()->set_target(std::string(AsText(target)));
  outbox.Send(carrier.id, std::move(open));
  const Link& opened = OpenRelayed(carrier, end, target, /*dialed=*/true, now);
  outbox.Send(opened.id, opened.handshake->Hello());
  return true;
}

uint32_t GossipCore::State::NextCircuit(Link& carrier) {
  carrier.own_circuit += carrier.own_circuit == 0 && carrier.dialed ? 1 : 2;
  return carrier.own_circuit;
}

GossipCore::State::Link& GossipCore::State::OpenRelayed(const Link& carrier, CircuitEnd end,
                                                        const privacy::NodeId& member, bool dialed,
                                                        Instant now) {
  privacy::ChannelKey key =
      privacy::ChannelKey::Generate([this](std::span<uint8_t> out) { sealer.FillRandom(out); });
  const Handshake::Nonce nonce = key.public_key();
  const LinkId id = relayed.Add(end, std::move(key));
  Link& opened = AddLink(id, dialed, nonce, {.own_certificates = {}, .relayed = true}, now);
  opened.relayed = true;
  opened.relay = carrier.peer;
  std::copy_n(carrier.peer.begin(), opened.source.size(), opened.source.begin());
  opened.sought = member;
  return opened;
}

absl::Status GossipCore::State::SecureRelayed(Link& link) {
  const Handshake& handshake = *link.handshake;
  if (handshake.peer_certificate().node_id != link.sought) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kRelayBroken,
                 "relay led to {} instead of the member that was asked for",
                 handshake.peer_certificate().name);
  }
  return relayed.Secure(link.id, handshake.peer_nonce(), link.dialed, handshake.Session());
}

void GossipCore::State::SendCircuitClose(CircuitEnd end, const absl::Status& status) {
  outbox.Send(end.link, CloseFrame(end.circuit, status));
}

bool GossipCore::State::BelongsToCircuit(Link& link, const WireFrame& frame, TimePoint now) const {
  if (link.active && frame.has_relay_ack()) {
    return circuits.Acknowledges({.link = link.id, .circuit = frame.relay_ack().circuit()},
                                 frame.relay_ack().received());
  }
  if (!link.active || !frame.has_relay_frame()) {
    return false;
  }
  const CircuitEnd end = {.link = link.id, .circuit = frame.relay_frame().circuit()};
  if (circuits.Carries(end) || relayed.Find(end)) {
    return true;
  }
  // The frame was in transit when the circuit ended. A relay that does not know of the end yet is
  // not to blame.
  const bool own = (end.circuit ^ link.own_circuit) % 2 == 0 && link.own_circuit != 0;
  const bool begun =
      end.circuit != 0 && end.circuit <= (own ? link.own_circuit : link.peer_circuit);
  return begun && link.strays.Take(now);
}

absl::Status GossipCore::State::OnCircuitFrame(Link& link, const WireFrame& frame, Instant now) {
  // Only one hop is allowed: a link through a relay carries no links of others.
  switch (link.relayed ? WireFrame::KIND_NOT_SET : frame.kind_case()) {
    case WireFrame::kRelayOpen:
      return OnRelayOpen(link, frame.relay_open(), now);
    case WireFrame::kRelayFrame:
      OnRelayFrame(link, frame.relay_frame(), now);
      return absl::OkStatus();
    case WireFrame::kRelayAck:
      circuits.Acknowledge({.link = link.id, .circuit = frame.relay_ack().circuit()},
                           frame.relay_ack().received(), now.now);
      return absl::OkStatus();
    case WireFrame::kRelayClose:
      OnRelayClose(link, frame.relay_close(), now);
      return absl::OkStatus();
    default:
      return UnexpectedFrame(frame);
  }
}

absl::Status GossipCore::State::OnRelayOpen(Link& link, const v1::RelayOpen& open, Instant now) {
  const auto source = DigestFrom(open.source());
  const auto target = DigestFrom(open.target());
  const bool numbered = open.circuit() != 0 && open.circuit() % 2 == (link.dialed ? 0 : 1);
  if (!source || !target || !numbered || *source == *target || *source == local.key->id() ||
      (*target != local.key->id() && *source != link.peer)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                 "circuit {} does not belong to the sender, or does not have two ends; update the "
                 "sending node",
                 open.circuit());
  }
  if (open.circuit() <= link.peer_circuit) {
    ++outbox.counters().duplicates;
    return absl::OkStatus();
  }
  link.peer_circuit = open.circuit();
  const CircuitEnd end = {.link = link.id, .circuit = open.circuit()};
  absl::Status status;
  if (leaving) {
    status = Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
                   "node is shutting down; ask another neighbour");
  } else {
    status = *target == local.key->id() ? AcceptCircuit(link, end, *source, now)
                                        : CarryCircuit(link, end, *target, now);
  }
  if (!status.ok()) {
    ++outbox.counters().circuits_refused;
    SendCircuitClose(end, status);
  }
  return absl::OkStatus();
}

absl::Status GossipCore::State::AcceptCircuit(Link& link, CircuitEnd end,
                                              const privacy::NodeId& source, Instant now) {
  if (!link.openings.Take(source, now.now)) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "member begins too many of the circuits to this node over one link; ask later");
  }
  if (Graylisted(source)) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kGraylisted,
                 "this node refuses links of the member because of its behaviour; see its log");
  }
  if (IsLinked(source) && !IsLinkedByRelay(source)) {
    return Error(absl::StatusCode::kAlreadyExists, reasons::kDuplicateLink,
                 "both nodes have a direct link; it stays");
  }
  RETURN_IF_ERROR(CheckRelayCapacity(link.id));
  OpenRelayed(link, end, source, /*dialed=*/false, now);
  return absl::OkStatus();
}

absl::Status GossipCore::State::CarryCircuit(Link& link, CircuitEnd end,
                                             const privacy::NodeId& target, Instant now) {
  if (!link.circuits.Take(now.now)) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "more than {} circuits a second over one link; ask later",
                 limits::kCircuitsPerSecond);
  }
  if (!local.relays) {
    return NoRelay("node carries no circuits");
  }
  const auto found = link_of.find(target);
  if (found == link_of.end() || RelayedLinks::IsRelayed(found->second)) {
    return NoRelay("node has no direct link to the member");
  }
  Link& other = links.at(found->second);
  const CircuitEnd to = {.link = other.id, .circuit = NextCircuit(other)};
  RETURN_IF_ERROR(circuits.Open(end, link.peer, to, target, now.now));
  ++outbox.counters().circuits_carried;
  WireFrame open;
  open.mutable_relay_open()->set_circuit(to.circuit);
  open.mutable_relay_open()->set_source(std::string(AsText(link.peer)));
  open.mutable_relay_open()->set_target(std::string(AsText(target)));
  outbox.Send(other.id, std::move(open));
  return absl::OkStatus();
}

void GossipCore::State::OnRelayFrame(const Link& link, const v1::RelayFrame& frame, Instant now) {
  const CircuitEnd end = {.link = link.id, .circuit = frame.circuit()};
  if (circuits.Carries(end)) {
    if (const absl::Status status = circuits.Forward(end, frame, now.now); !status.ok()) {
      SendCircuitClose(*circuits.Close(end), status);
      SendCircuitClose(end, status);
    }
    return;
  }
  const auto id = relayed.Find(end);
  if (!id) {
    return;  // the frame crossed the end of its circuit
  }
  Link& inner = links.at(*id);
  const auto opened = relayed.Unwrap(*id, frame);
  if (auto ack = relayed.TakeAck(*id)) {
    outbox.Send(link.id, *std::move(ack));
  }
  if (!opened.ok()) {
    inner.failed = ReasonOf(opened.status()) == reasons::kRelayBroken;
    if (!inner.failed) {
      scores.Invalid(*id, 1);
    }
    outbox.Refuse(/*link=*/0, opened.status());
    CloseWithGoaway(inner, opened.status(), now);
  } else if (!opened->has_value()) {
    ++outbox.counters().duplicates;
  } else {
    HandleFrame(inner, **opened, now);
  }
}

void GossipCore::State::OnRelayClose(const Link& link, const v1::RelayClose& close, Instant now) {
  const CircuitEnd end = {.link = link.id, .circuit = close.circuit()};
  if (const auto other = circuits.Close(end)) {
    SendCircuitClose(*other, LostLink());
    return;
  }
  const auto id = relayed.Find(end);
  if (!id) {
    return;
  }
  Link& inner = links.at(*id);
  inner.excused = !inner.active;
  relayed.Remove(*id);
  // This does not show that the node at the other end failed; only its own link to the relay could.
  ForgetLink(*id, /*hopeless=*/false, /*lost=*/false, now);
}

void GossipCore::State::OnLinkForgotten(const Link& link, TimePoint now) {
  if (!link.relayed) {
    WrapRelayed();  // frames that were sent before the link ended must go before its end
    relayed.CarrierDown(link.id);
    for (const CircuitEnd& end : circuits.LinkDown(link.id)) {
      SendCircuitClose(end, LostLink());
    }
    return;
  }
  const bool failed = link.failed || (!link.active && !link.excused && link.dialed);
  const RelayPlanner::End end = failed        ? RelayPlanner::End::kFailed
                                : link.active ? RelayPlanner::End::kClosed
                                              : RelayPlanner::End::kRefused;
  if (link.dialed) {
    relay_planner.OnEnded(link.sought, link.relay, end, now);
  } else if (failed) {
    relay_planner.Distrust(link.relay, now);
  }
}

void GossipCore::State::TickRelays(Instant now) {
  for (const LinkId id : relayed.TakeLost()) {
    if (const auto found = links.find(id); found != links.end()) {
      found->second.excused = true;  // its relay is gone, so the relay lost nothing on purpose
      ForgetLink(id, /*hopeless=*/false, /*lost=*/false, now);
    }
  }
  for (const privacy::NodeId& target : relay_planner.Due()) {
    if (IsLinked(target) || leaving) {
      relay_planner.OnOpened(target);
    } else {
      AskNextRelay(target, now);
    }
  }
  for (const CircuitEnd& end : circuits.Tick(now.now)) {
    SendCircuitClose(end, Error(absl::StatusCode::kUnavailable, reasons::kLinkIdle,
                                "circuit was idle for too long; open it again when there is a "
                                "need"));
  }
  // A link that carries others is in use.
  for (const LinkId id : relayed.carriers()) {
    mesh.Touch(id, now.now);
  }
  for (const LinkId id : circuits.links()) {
    mesh.Touch(id, now.now);
  }
}

}  // namespace ruvd::federation
