// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

namespace ruvd::test {

// Returns the body of GET /metrics from host:port.
inline std::string ScrapeMetrics(const std::string& address) {
  const size_t colon = address.rfind(':');
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  EXPECT_EQ(::getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(),
                          &hints, &found),
            0);
  const int socket = ::socket(found->ai_family, found->ai_socktype, found->ai_protocol);
  EXPECT_EQ(::connect(socket, found->ai_addr, found->ai_addrlen), 0);
  ::freeaddrinfo(found);
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  EXPECT_EQ(::send(socket, request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 1; n > 0;) {
    n = ::recv(socket, buffer.data(), buffer.size(), 0);
    answer.append(buffer.data(), static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  ::close(socket);
  return answer;
}

}  // namespace ruvd::test
