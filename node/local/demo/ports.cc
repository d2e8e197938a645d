// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/demo/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::cli {
namespace {

// Binds and listens for a moment, because binding alone also succeeds beside a listener with
// SO_REUSEPORT.
std::optional<uint16_t> Probe(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return std::nullopt;
  }
  const int reuse = 1;  // treats a port whose last connections are in TIME_WAIT as free
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool free = ::bind(fd, generic, sizeof(address)) == 0 && ::listen(fd, 1) == 0 &&
                    ::getsockname(fd, generic, &length) == 0;
  ::close(fd);
  return free ? std::optional<uint16_t>(ntohs(address.sin_port)) : std::nullopt;
}

}  // namespace

absl::StatusOr<uint16_t> FreePort(uint16_t wanted) {
  if (wanted != 0) {
    if (const auto port = Probe(wanted)) {
      return *port;
    }
  }
  if (const auto port = Probe(0)) {
    return *port;
  }
  return Error(absl::StatusCode::kUnavailable, reasons::kProcessFailed,
               "no TCP port of 127.0.0.1 is free: {}; check the machine's limits",
               std::strerror(errno));
}

}  // namespace ruvd::cli
