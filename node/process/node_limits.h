// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>
#include <vector>

#include "base/limit_use.h"
#include "node/http/server.h"
#include "node/process/resource_use.h"
#include "node/transport/connection_acceptor.h"
#include "ruvd/node/v1/node.pb.h"

namespace ruvd::node {

// The names of the limits of a port, or empty ones for limits that it does not have.
struct PortLimitNames {
  std::string_view connections;
  std::string_view unproven;
  std::string_view unproven_of_source;
  std::string_view unproven_time;
  std::string_view unproven_bytes;
  std::string_view opened;
  std::string_view hand_over;
};
inline constexpr PortLimitNames kClientLimits = {.connections = "client_connections",
                                                 .unproven = "client_unproven",
                                                 .unproven_of_source = "client_unproven_of_source",
                                                 .unproven_time = "client_unproven_time",
                                                 .unproven_bytes = "client_unproven_bytes",
                                                 .opened = "client_connections_opened",
                                                 .hand_over = "client_hand_over"};
inline constexpr PortLimitNames kPeerLimits = {.connections = "peer_connections",
                                               .unproven = "peer_unproven",
                                               .unproven_of_source = "peer_unproven_of_source",
                                               .unproven_time = "peer_unproven_time",
                                               .unproven_bytes = "peer_unproven_bytes",
                                               .opened = "peer_connections_opened",
                                               .hand_over = "peer_hand_over"};
// What takes connections over for HTTP cannot be held up.
inline constexpr PortLimitNames kHttpLimits = {.connections = "http_connections",
                                               .unproven = "http_unproven",
                                               .unproven_of_source = "http_unproven_of_source",
                                               .unproven_time = "http_unproven_time",
                                               .unproven_bytes = "http_unproven_bytes",
                                               .opened = "http_connections_opened",
                                               .hand_over = ""};
// A connection of the unix socket is proven from the beginning.
inline constexpr PortLimitNames kSocketLimits = {.connections = "socket_connections",
                                                 .unproven = "",
                                                 .unproven_of_source = "",
                                                 .unproven_time = "",
                                                 .unproven_bytes = "",
                                                 .opened = "socket_connections_opened",
                                                 .hand_over = "socket_hand_over"};

// Returns the limits of a port.
std::vector<LimitUse> LimitsOfPort(const PortLimitNames& names,
                                   const transport::ConnectionAcceptor& port);

// Returns the limits that the server of HTTP keeps beside those of its port.
std::vector<LimitUse> LimitsOfHttp(const http::Server::Counts& counts);

// Write limits and resources into a status.
void WriteLimits(const std::vector<LimitUse>& limits, node::v1::GetStatusResponse* status);
void WriteResources(const ResourceUse& use, node::v1::GetStatusResponse* status);

}  // namespace ruvd::node
