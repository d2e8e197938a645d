// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "node/transport/descriptor.h"

namespace ruvd::transport {

// The non-blocking sockets on which a port listens.
struct Listeners {
  std::string address;  // as it was asked for, with the real port
  std::vector<Descriptor> sockets;
};

// Listens on "HOST:PORT" or "[IPV6]:PORT", on all addresses of the host, which share one port; port
// 0 takes a free one. CONFIG_INVALID for another text, a host without address, or an address that
// cannot be bound.
absl::StatusOr<Listeners> ListenOnTcp(const std::string& address);

// Returns an address at which a program of this machine reaches a listening socket: its own, or
// loopback where it listens on all addresses.
sockaddr_storage LocalAddressOf(int listener);

// Returns the error for an address on which `why` keeps this process from listening.
absl::Status CannotListen(const std::string& address, const std::string& why);

}  // namespace ruvd::transport
