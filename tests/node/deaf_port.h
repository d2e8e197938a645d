// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace ruvd::test {

// Returns the sockets of this process that listen at `address`, which ends in ":PORT".
inline std::vector<int> ListenersOf(const std::string& address) {
  const int port = std::atoi(address.substr(address.rfind(':') + 1).c_str());
  std::vector<int> listeners;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    int listens = 0;
    socklen_t size = sizeof listens;
    sockaddr_in bound{};
    socklen_t bound_size = sizeof bound;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &bound_size) == 0 &&
        ntohs(bound.sin_port) == port) {
      listeners.push_back(fd);
    }
  }
  return listeners;
}

// Lets no epoll of this process report a listening socket any more, as if the accept loop stood
// still: callers still connect, and nothing accepts them. Returns whether a socket listens there.
inline bool MakeDeaf(const std::string& address) {
  const std::vector<int> listeners = ListenersOf(address);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) == "anon_inode:[eventpoll]") {
      for (const int listener : listeners) {
        ::epoll_ctl(std::atoi(entry.path().filename().c_str()), EPOLL_CTL_DEL, listener, nullptr);
      }
    }
  }
  return !listeners.empty();
}

// Drops what callers send to a listening socket before the socket sees it, as a packet filter of
// the machine does: no connection comes about. Returns whether a socket listens there.
inline bool DropPackets(const std::string& address) {
  sock_filter drop{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
  const sock_fprog program{.len = 1, .filter = &drop};
  bool dropped = false;
  for (const int listener : ListenersOf(address)) {
    dropped = ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
  }
  return dropped;
}

}  // namespace ruvd::test
