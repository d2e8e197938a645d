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

// This node's ends of links that run through relays: which circuit each has on which link, and the
// channel that seals what goes through it. The relay sees the handshake, lengths and times; what it
// alters, leaves out or repeats opens nothing. Not thread-safe.
class RelayedLinks {
 public:
  // The ids of such links have the highest bit, which the ids that the owner of the core gives do
  // not have. The owner has no link of these ids: it is never asked to write to one or to close
  // one, and meets them in MessageRefused only.
  static bool IsRelayed(LinkId link) { return (link & kBit) != 0; }

  // A link over a circuit that no other one has.
  LinkId Add(CircuitEnd circuit, privacy::ChannelKey key);
  // The link over a circuit; nullopt if there is none.
  std::optional<LinkId> Find(CircuitEnd circuit) const;
  // Its circuit; nullopt for a link that is gone.
  std::optional<CircuitEnd> CircuitOf(LinkId link) const;
  // The handshake is done: from now on frames are sealed. KEY_INVALID.
  absl::Status Secure(LinkId link, const privacy::ChannelKey::PublicKey& peer, bool dialed,
                      const Digest& session);
  // The frame that takes `frame` to the relay; nullopt for a link that is gone.
  std::optional<v1::Frame> Wrap(LinkId link, const v1::Frame& frame);
  // What a frame of the relay brings over a known link; nullopt: a copy. RELAY_BROKEN for what the
  // other end did not send next, ENVELOPE_MALFORMED for what it sent and is no frame. A Goaway that
  // crossed the handshake comes as one that ends the link at once: perhaps the relay made it, which
  // may end the link anyway.
  absl::StatusOr<std::optional<v1::Frame>> Unwrap(
      LinkId link, const v1::RelayFrame& frame);
  // What to tell the relay after an Unwrap, if it is due; nullopt for a link that is gone, too.
  std::optional<v1::Frame> TakeAck(LinkId link);
  void Remove(LinkId link);
  // A link is gone that others ran over. They stay until TakeLost, and carry nothing more.
  void CarrierDown(LinkId carrier);
  // Links whose carrier is gone, ascending; they are removed.
  std::vector<LinkId> TakeLost();

  size_t size() const { return entries_.size(); }
  size_t CountOver(LinkId carrier) const;
  // Links that others run over, ascending.
  std::vector<LinkId> carriers() const;

 private:
  static constexpr LinkId kBit = LinkId{1} << 63;
  struct Entry {
    CircuitEnd circuit;
    bool lost = false;
    privacy::ChannelKey key;
    std::optional<privacy::SealedChannel> channel;
    bool opened = false;  // something sealed: the other end has the keys, too
    uint64_t sent = 0;
    uint64_t received = 0;
    size_t unacknowledged = 0;  // bytes
  };

  std::map<LinkId, Entry> entries_;
  std::map<CircuitEnd, LinkId> of_circuit_;  // of those that are not lost
  LinkId next_ = kBit | 1;
};

}  // namespace ruvd::federation
