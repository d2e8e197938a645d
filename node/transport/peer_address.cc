// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

namespace ruvd::transport {
namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr size_t kIpv6SourceBytes = 7;

PeerAddress Mapped(const in_addr& host, uint16_t port) {
  PeerAddress address{.port = port};
  std::ranges::copy(kMappedPrefix, address.host.begin());
  std::memcpy(address.host.data() + kMappedPrefix.size(), &host, sizeof host);
  return address;
}

PeerAddress Plain(const in6_addr& host, uint16_t port) {
  PeerAddress address{.port = port};
  std::memcpy(address.host.data(), &host, sizeof host);
  return address;
}

}  // namespace

std::optional<PeerAddress> PeerAddressOf(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return Mapped(v4.sin_addr, ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    return Plain(v6.sin6_addr, ntohs(v6.sin6_port));
  }
  if (address.ss_family == AF_UNIX) {
    PeerAddress name;
    std::memcpy(name.host.data(), reinterpret_cast<const sockaddr_un&>(address).sun_path,
                name.host.size());
    return name;
  }
  return std::nullopt;
}

PeerAddress PeerOfUser(uid_t user, uint64_t number) {
  PeerAddress peer;
  static_assert(sizeof user <= kIpv6SourceBytes, "SourceOf keeps the user");
  std::memcpy(peer.host.data(), &user, sizeof user);
  std::memcpy(peer.host.data() + sizeof peer.host / 2, &number, sizeof number);
  return peer;
}

std::optional<PeerAddress> ParsePeer(std::string_view peer) {
  const size_t scheme = peer.find(':');
  const size_t colon = peer.rfind(':');
  if (scheme == std::string_view::npos || colon == scheme) {
    return std::nullopt;
  }
  std::string host(peer.substr(scheme + 1, colon - scheme - 1));
  for (const std::string_view bracket : {"%5B", "%5D", "%5b", "%5d", "[", "]"}) {
    if (const size_t at = host.find(bracket); at != std::string::npos) {
      host.erase(at, bracket.size());
    }
  }
  host.resize(std::min(host.find('%'), host.size()));  // without the zone of a link-local address
  const std::string_view digits = peer.substr(colon + 1);
  uint16_t port = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) {
    return std::nullopt;
  }
  if (in_addr v4{}; ::inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return Mapped(v4, port);
  }
  if (in6_addr v6{}; ::inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    return Plain(v6, port);
  }
  return std::nullopt;
}

PeerSource SourceOf(const PeerAddress& address) {
  PeerSource source = address.host;
  if (!std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), source.begin())) {
    std::fill(source.begin() + kIpv6SourceBytes, source.end(), uint8_t{0});
  }
  return source;
}

}  // namespace ruvd::transport
