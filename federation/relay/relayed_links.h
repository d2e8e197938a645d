// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/relay/circuit_table.h"
#include "privacy/channel/sealed_channel.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::federation {

// This node's ends of links that run through relays: the circuit of each link, and the channel that
// seals its frames. The relay sees the handshake, lengths and times; frames that it alters, leaves
// out or repeats cannot be opened. Not thread-safe.
class RelayedLinks {
 public:
  // The ids of such links have the highest bit set, unlike the ids that the owner of the core
  // assigns. The owner has no links with these ids: it is never asked to write to one or to close
  // one, and sees them only in MessageRefused.
  static bool IsRelayed(LinkId link) { return (link & kBit) != 0; }

  // Adds a link over a circuit that no other link uses.
  LinkId Add(CircuitEnd circuit, privacy::ChannelKey key);
  // Returns the link over a circuit; nullopt for an unknown circuit.
  std::optional<LinkId> Find(CircuitEnd circuit) const;
  // Returns the circuit of a link; nullopt for a link that is gone.
  std::optional<CircuitEnd> CircuitOf(LinkId link) const;
  // The handshake is done: seals frames from now on. Returns KEY_INVALID for an invalid key of
  // the peer.
  absl::Status Secure(LinkId link, const privacy::ChannelKey::PublicKey& peer, bool dialed,
                      const Digest& session);
  // Returns the frame that carries `frame` to the relay; nullopt for a link that is gone.
  std::optional<v1::WireFrame> Wrap(LinkId link, const v1::WireFrame& frame);
  // Returns the frame inside a frame of the relay on a known link; nullopt if it is a copy.
  // RELAY_BROKEN if it is not what the other end sent next, ENVELOPE_MALFORMED if the other end
  // sent it and it is not a frame. A Goaway that crossed the handshake is returned as one that ends
  // the link at once; the relay may have made it, but a relay can end the link anyway.
  absl::StatusOr<std::optional<v1::WireFrame>> Unwrap(LinkId link, const v1::RelayFrame& frame);
  // Returns the acknowledgement for the relay after an Unwrap if it is due; nullopt otherwise and
  // for a link that is gone.
  std::optional<v1::WireFrame> TakeAck(LinkId link);
  void Remove(LinkId link);
  // A link that carried others is gone. The carried links stay until TakeLost, but carry nothing
  // more.
  void CarrierDown(LinkId carrier);
  // Removes and returns the links whose carrier is gone, ascending.
  std::vector<LinkId> TakeLost();

  size_t size() const { return entries_.size(); }
  size_t CountOver(LinkId carrier) const;
  // Links that carry others, ascending
  std::vector<LinkId> carriers() const;

 private:
  static constexpr LinkId kBit = LinkId{1} << 63;
  struct Entry {
    CircuitEnd circuit;
    bool lost = false;
    privacy::ChannelKey key;
    std::optional<privacy::SealedChannel> channel;
    bool opened = false;  // a sealed frame was opened, so the other end has the keys, too
    uint64_t sent = 0;
    uint64_t received = 0;
    size_t unacknowledged = 0;  // bytes
  };

  std::map<LinkId, Entry> entries_;
  std::map<CircuitEnd, LinkId> of_circuit_;  // only of links that are not lost
  LinkId next_ = kBit | 1;
};

}  // namespace ruvd::federation
