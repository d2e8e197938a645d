// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ruvd::transport {

// The address and the port of the other end of a connection.
struct PeerAddress {
  std::array<uint8_t, 16> host{};  // an IPv4 address is mapped (RFC 4291, section 2.5.5.2)
  uint16_t port = 0;
  auto operator<=>(const PeerAddress&) const = default;
};

// The part of an address that one host cannot change at will: an IPv4 address, or the first 56 bits
// of an IPv6 address, of which a household often has all others. The rest is zero.
using PeerSource = std::array<uint8_t, 16>;

// Returns the beginning of its name for a unix socket, and nullopt for an address of another kind.
// A unix socket that its caller bound to no name has the empty one, as all such callers have.
std::optional<PeerAddress> PeerAddressOf(const sockaddr_storage& address);

// Returns an address for a caller over a unix socket: all callers of one user are one source, and
// `number` tells them apart.
PeerAddress PeerOfUser(uid_t user, uint64_t number);

// Reads the text by which gRPC names a peer: "ipv4:1.2.3.4:5" or "ipv6:%5B2001:db8::1%5D:5".
std::optional<PeerAddress> ParsePeer(std::string_view peer);

PeerSource SourceOf(const PeerAddress& address);

}  // namespace ruvd::transport
