// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "node/transport/connection_acceptor.h"

namespace ruvd::transport {

// What a server says first, once it has heard the beginning of a connection.
enum class PortProtocol : uint8_t {
  kHttp1,  // plain HTTP/1.1: an answer to GET /livez
  kHttp2,  // plain HTTP/2: a SETTINGS frame
  kTls,    // a handshake message or an alert
};

// What a dial of an own port showed.
enum class PortSign : uint8_t {
  kAlive,    // the server answered, or the port was at work on connections of others meanwhile
  kSilent,   // neither
  kGone,     // the path of the unix socket leads no caller to the port
  kUnknown,  // the dial could not be made (no descriptor, no port), did not get to the port, as
             // where a packet filter is in its way, or was stopped
};
struct DialResult {
  PortSign sign = PortSign::kUnknown;
  std::string detail;  // what happened, for people; empty if the port is alive
};

// Dials the port of an acceptor from inside its process, as the acceptor itself is told
// (ConnectionAcceptor::ExpectOwn): no limit refuses the connection, and no count has it. A port
// whose accept loop stands still shows by a connection that nothing accepts, or that finds the
// queue full, while no other one arrives; a server that does not serve, by one that it took over
// and does not answer while it takes over or answers no other one either. So a flood, under which
// the port works and the dial fails, does not look like a deaf port.
//
// Blocks for at most `patience` to connect, and as long again for the answer. Both are counted in
// short waits of this thread, so the time in which the process or the machine stood still counts
// little. `stopped` ends the dial early; it may be null. One dial of an acceptor at a time.
DialResult DialOwnPort(ConnectionAcceptor& acceptor, PortProtocol protocol,
                       std::chrono::milliseconds patience, const std::function<bool()>& stopped);

}  // namespace ruvd::transport
