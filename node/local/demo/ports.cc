// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/demo/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::cli {
namespace {

// Linux gives ports from 32768 on to outgoing connections, unless it is told otherwise.
constexpr int kFirstPort = 16384;
constexpr int kPorts = 16384;

// Binds and listens for a moment, because binding alone also succeeds beside a listener with
// SO_REUSEPORT.
bool IsFree(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return false;
  }
  const int reuse = 1;  // treats a port whose last connections are in TIME_WAIT as free
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const bool free = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
                    ::listen(fd, 1) == 0;
  ::close(fd);
  return free;
}

}  // namespace

FreePorts::FreePorts() {
  std::array<uint8_t, sizeof(uint16_t)> bytes;
  privacy::SecureRandomBytes(bytes);
  next_ = static_cast<uint16_t>(kFirstPort + std::bit_cast<uint16_t>(bytes) % kPorts);
}

absl::StatusOr<uint16_t> FreePorts::Take(uint16_t wanted) {
  if (wanted != 0 && IsFree(wanted)) {
    return wanted;
  }
  for (int tried = 0; tried < kPorts; ++tried) {
    const uint16_t port = next_;
    next_ = static_cast<uint16_t>(kFirstPort + (port - kFirstPort + 1) % kPorts);
    if (IsFree(port)) {
      return port;
    }
  }
  return Error(absl::StatusCode::kUnavailable, reasons::kProcessFailed,
               "no TCP port from {} to {} of 127.0.0.1 is free: {}; check the machine's limits",
               kFirstPort, kFirstPort + kPorts - 1, std::strerror(errno));
}

}  // namespace ruvd::cli
