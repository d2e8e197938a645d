// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "node/limits.h"
#include "node/transport/connection_table.h"

// What each port of a node allows its callers.
namespace ruvd::limits {

// The port for peers. A node has at most 64 links; 8 unproven connections of one source, and 10 new
// ones a second, leave room for a cluster behind one address. A handshake needs four messages; the
// revocation list comes after it.
inline constexpr transport::ConnectionLimits kPeerConnections = {
    .connections = 128,
    .unproven = 32,
    .unproven_of_source = 8,
    .unproven_life = std::chrono::seconds(15),
    .unproven_bytes = 128 << 10,
    .unproven_buffer = 32 << 10,
    .opened_per_second = 10,
    .opened_burst = 64};
// Calls of one peer at a time: its link, and joining or renewing beside it.
inline constexpr int kMaxPeerStreams = 8;
inline constexpr int kPeerIdleMs = 60'000;

// The port for clients, if the process has descriptors enough. All programs of the own machine are
// one source. A connection proves itself by a first call that the node allows, which gRPC shows
// only once the whole request has come: so it may have the size of the largest request, and take
// minutes over a slow line.
inline constexpr transport::ConnectionLimits kClientConnections = {
    .connections = 1024,
    .unproven = 512,
    .unproven_of_source = 256,
    .unproven_life = std::chrono::minutes(10),
    .unproven_bytes = 16 << 20,
    .unproven_buffer = 128 << 10,
    .opened_per_second = 2000,
    .opened_burst = 4000};
static_assert(kClientConnections.unproven_bytes > kMaxApiMessageBytes);
inline constexpr int kMaxClientStreams = 256;
inline constexpr int kClientIdleMs = 600'000;
// The port for HTTP, whose connections wait for their next request as those of browsers and of
// pools of clients do, so that more of them are open than work.
inline constexpr transport::ConnectionLimits kHttpConnections = [] {
  transport::ConnectionLimits limits = kClientConnections;
  limits.connections = 2048;
  return limits;
}();
// The port for HTTP with TLS: its one thread signs each handshake, which takes it about a
// millisecond, so that one source may open far fewer connections.
inline constexpr double kHttpTlsOpenedPerSecond = 100;
inline constexpr double kHttpTlsOpenedBurst = 200;
// The unix socket for clients of the node's own user, who prove themselves by their user; so only
// the number of connections, and how often a user opens one, are limited.
inline constexpr transport::ConnectionLimits kSocketConnections = [] {
  transport::ConnectionLimits limits = kClientConnections;
  limits.connections = limits.unproven = limits.unproven_of_source = 256;
  return limits;
}();
// The fewest connections of clients, over the port and the unix socket, with which a node starts.
inline constexpr size_t kLeastClientConnections = 64;
// Threads of calls that block one each: those of the reflection service only.
inline constexpr int kMaxBlockingThreads = 32;

// Descriptors of the store (storage/db/rocks_options.cc), of all else but connections, and of
// each connection: its socket twice.
inline constexpr size_t kStoreDescriptors = 512;
inline constexpr size_t kOtherDescriptors = 128;
inline constexpr size_t kDescriptorsOfConnection = 2;

// Returns how many descriptors a node needs for so many connections of clients.
constexpr size_t DescriptorsFor(size_t client_connections) {
  return kStoreDescriptors + kOtherDescriptors +
         kDescriptorsOfConnection * (kPeerConnections.connections + client_connections);
}
static_assert(DescriptorsFor(kLeastClientConnections) <= 1024, "the usual soft limit suffices");

// Return what the unix socket and the two ports for clients allow in a process with so many
// descriptors, which are at least DescriptorsFor(kLeastClientConnections). The socket gets up to a
// quarter, and HTTP up to half of the rest.
constexpr size_t RoomForClients(size_t descriptors) {
  return (descriptors - DescriptorsFor(0)) / kDescriptorsOfConnection;
}
constexpr transport::ConnectionLimits SocketConnectionsWithin(size_t descriptors) {
  transport::ConnectionLimits limits = kSocketConnections;
  limits.connections = std::min(limits.connections, RoomForClients(descriptors) / 4);
  return limits;
}
constexpr transport::ConnectionLimits Within(size_t room, transport::ConnectionLimits limits) {
  limits.connections = std::min(limits.connections, room);
  limits.unproven = std::min(limits.unproven, limits.connections / 2);
  limits.unproven_of_source = std::min(limits.unproven_of_source, limits.unproven / 2);
  return limits;
}
constexpr transport::ConnectionLimits HttpConnectionsWithin(size_t descriptors, bool tls) {
  const size_t room =
      RoomForClients(descriptors) - SocketConnectionsWithin(descriptors).connections;
  transport::ConnectionLimits limits = Within(room / 2, kHttpConnections);
  if (tls) {
    limits.opened_per_second = kHttpTlsOpenedPerSecond;
    limits.opened_burst = kHttpTlsOpenedBurst;
  }
  return limits;
}
constexpr transport::ConnectionLimits ClientConnectionsWithin(size_t descriptors) {
  const size_t room = RoomForClients(descriptors) -
                      SocketConnectionsWithin(descriptors).connections -
                      HttpConnectionsWithin(descriptors, /*tls=*/false).connections;
  return Within(room, kClientConnections);
}

}  // namespace ruvd::limits
