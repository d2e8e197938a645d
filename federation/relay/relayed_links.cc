// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/relay/relayed_links.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

using v1::RelayFrame;
using v1::WireFrame;

absl::Status Broken(std::string_view what) {
  return Error(absl::StatusCode::kDataLoss, reasons::kRelayBroken,
               "relay {}; the link is opened again through another one", what);
}

bool OfHandshake(const WireFrame& frame) {
  return frame.has_hello() || frame.has_hello_ack() || frame.has_hello_proof();
}

// The Goaway of an end that gave up before the last frame of the handshake reached it. It only says
// that the link ends, because it is not sealed and nothing more in it could be trusted.
std::optional<WireFrame> CrossingGoaway(const std::string& opening) {
  WireFrame frame;
  if (opening.size() > limits::kMaxFrameBytes || !frame.ParseFromString(opening) ||
      !frame.has_goaway()) {
    return std::nullopt;
  }
  frame.mutable_goaway()->clear_drain_ms();
  return frame;
}

}  // namespace

LinkId RelayedLinks::Add(CircuitEnd circuit, privacy::ChannelKey key) {
  RUVD_CHECK(!of_circuit_.contains(circuit));
  const LinkId link = next_++;
  entries_.emplace(link, Entry{.circuit = circuit, .key = std::move(key), .channel = std::nullopt});
  of_circuit_[circuit] = link;
  return link;
}

std::optional<LinkId> RelayedLinks::Find(CircuitEnd circuit) const {
  const auto found = of_circuit_.find(circuit);
  return found == of_circuit_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<CircuitEnd> RelayedLinks::CircuitOf(LinkId link) const {
  const auto found = entries_.find(link);
  return found == entries_.end() || found->second.lost ? std::nullopt
                                                       : std::optional(found->second.circuit);
}

absl::Status RelayedLinks::Secure(LinkId link, const privacy::ChannelKey::PublicKey& peer,
                                  bool dialed, const Digest& session) {
  Entry& entry = entries_.at(link);
  ASSIGN_OR_RETURN(entry.channel, entry.key.Agree(peer, /*first=*/dialed, session));
  return absl::OkStatus();
}

std::optional<WireFrame> RelayedLinks::Wrap(LinkId link, const WireFrame& frame) {
  const auto found = entries_.find(link);
  if (found == entries_.end() || found->second.lost) {
    return std::nullopt;
  }
  Entry& entry = found->second;
  WireFrame out;
  RelayFrame* wrapped = out.mutable_relay_frame();
  wrapped->set_circuit(entry.circuit.circuit);
  wrapped->set_seq(entry.sent++);
  std::string bytes = frame.SerializeAsString();
  if (entry.channel && !OfHandshake(frame)) {
    wrapped->set_sealed(entry.channel->Seal(bytes));
  } else {
    wrapped->set_opening(std::move(bytes));
  }
  return out;
}

absl::StatusOr<std::optional<WireFrame>> RelayedLinks::Unwrap(LinkId link,
                                                              const RelayFrame& frame) {
  Entry& entry = entries_.at(link);
  if (frame.seq() < entry.received) {
    return std::optional<WireFrame>();
  }
  if (frame.seq() > entry.received) {
    return Broken("left out a frame");
  }
  ++entry.received;
  entry.unacknowledged += RelayedCost(frame);
  if (entry.channel && !entry.opened && frame.has_opening()) {
    if (auto goaway = CrossingGoaway(frame.opening())) {
      return goaway;
    }
  }
  if (entry.channel.has_value() != frame.has_sealed()) {
    return Broken("brought a frame that its sender did not seal, or sealed too early");
  }
  std::string bytes = frame.opening();
  if (entry.channel) {
    auto opened = entry.channel->Open(frame.sealed());
    if (!opened.ok()) {
      return Broken("altered a frame or left one out");
    }
    entry.opened = true;
    bytes = *std::move(opened);
  }
  WireFrame inner;
  if (bytes.size() > limits::kMaxFrameBytes || !inner.ParseFromString(bytes)) {
    return entry.channel
               ? Error(absl::StatusCode::kInvalidArgument, reasons::kEnvelopeMalformed,
                       "circuit carried bytes that are not a frame; update the sending node")
               : Broken("altered a frame of the handshake");
  }
  return std::optional<WireFrame>(std::move(inner));
}

std::optional<WireFrame> RelayedLinks::TakeAck(LinkId link) {
  const auto found = entries_.find(link);
  if (found == entries_.end() || found->second.lost ||
      found->second.unacknowledged < limits::kRelayAckBytes) {
    return std::nullopt;
  }
  found->second.unacknowledged = 0;
  WireFrame frame;
  frame.mutable_relay_ack()->set_circuit(found->second.circuit.circuit);
  frame.mutable_relay_ack()->set_received(found->second.received);
  return frame;
}

void RelayedLinks::Remove(LinkId link) {
  const auto found = entries_.find(link);
  if (found == entries_.end()) {
    return;
  }
  if (!found->second.lost) {
    of_circuit_.erase(found->second.circuit);
  }
  entries_.erase(found);
}

void RelayedLinks::CarrierDown(LinkId carrier) {
  for (auto& [link, entry] : entries_) {
    if (entry.circuit.link == carrier && !entry.lost) {
      entry.lost = true;
      of_circuit_.erase(entry.circuit);
    }
  }
}

std::vector<LinkId> RelayedLinks::TakeLost() {
  std::vector<LinkId> lost;
  for (const auto& [link, entry] : entries_) {
    if (entry.lost) {
      lost.push_back(link);
    }
  }
  std::erase_if(entries_, [](const auto& entry) { return entry.second.lost; });
  return lost;
}

size_t RelayedLinks::CountOver(LinkId carrier) const {
  return static_cast<size_t>(std::ranges::count_if(
      of_circuit_, [carrier](const auto& entry) { return entry.first.link == carrier; }));
}

std::vector<LinkId> RelayedLinks::carriers() const {
  std::vector<LinkId> carriers;
  for (const auto& [circuit, link] : of_circuit_) {
    if (carriers.empty() || carriers.back() != circuit.link) {
      carriers.push_back(circuit.link);
    }
  }
  return carriers;
}

}  // namespace ruvd::federation
