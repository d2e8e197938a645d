// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ruvd {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  uint16_t port = 0;
};

// Reads "HOST:PORT" or "[IPV6]:PORT", where HOST is a name or an IPv4 address of letters, digits
// and
// ".-_"; nullopt for anything else, such as a name with a scheme.
std::optional<HostPort> ParseHostPort(std::string_view text);

// Returns whether only programs on the same machine can reach the host: localhost, 127.0.0.0/8 or
// ::1. Other names count as remote, even if they resolve to such an address.
bool IsLoopback(std::string_view host);

// Where an address leads, as far as the text shows it: a name may lead anywhere, except that
// "localhost" and names below it lead to the own machine.
enum class HostReach : uint8_t {
  kAnywhere,
  kThisMachine,  // loopback or the unspecified address, also as an IPv4 address in IPv6
  kThisLine,     // link-local, where cloud machines have services of their own
  kMany,         // multicast or broadcast
};
HostReach ReachOf(std::string_view host);

}  // namespace ruvd
