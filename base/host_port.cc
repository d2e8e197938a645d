// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace ruvd {

std::optional<HostPort> ParseHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  HostPort result;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (error != std::errc() || end != port.data() + port.size()) {
    return std::nullopt;
  }
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  }
  const auto fits = [bracketed](char c) {
    const bool alphanumeric =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return alphanumeric || c == '.' || c == '-' || c == '_' ||
           (bracketed && (c == ':' || c == '%'));  // a zone follows '%'
  };
  if (host.empty() || !std::ranges::all_of(host, fits)) {
    return std::nullopt;
  }
  result.host = host;
  return result;
}

bool IsLoopback(std::string_view host) {
  const std::string text(host);
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6);
  }
  return text == "localhost";
}

HostReach ReachOf(std::string_view host) {
  std::string text(host.substr(0, host.find('%')));
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  in6_addr v6{};
  in_addr v4{};
  // Resolvers take forms such as 127.1 and 0x7f000001 as well.
  bool is_v4 = inet_aton(text.c_str(), &v4) == 1;
  if (!is_v4 && inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    if (!IN6_IS_ADDR_V4MAPPED(&v6)) {
      return IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_UNSPECIFIED(&v6) ? HostReach::kThisMachine
             : IN6_IS_ADDR_LINKLOCAL(&v6)                              ? HostReach::kThisLine
             : IN6_IS_ADDR_MULTICAST(&v6)                              ? HostReach::kMany
                                                                       : HostReach::kAnywhere;
    }
    std::memcpy(&v4, v6.s6_addr + 12, sizeof v4);
    is_v4 = true;
  }
  if (is_v4) {
    const uint32_t address = ntohl(v4.s_addr);
    return address >> 24 == IN_LOOPBACKNET || address >> 24 == 0 ? HostReach::kThisMachine
           : address >> 16 == 0xa9fe                             ? HostReach::kThisLine
           : address >> 28 >= 0xe                                ? HostReach::kMany
                                                                 : HostReach::kAnywhere;
  }
  while (text.ends_with('.')) {
    text.pop_back();
  }
  return text == "localhost" || text.ends_with(".localhost") ? HostReach::kThisMachine
                                                             : HostReach::kAnywhere;
}

}  // namespace ruvd
