// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace ruvd::test {

// Lets no epoll of this process report a listening socket any more, as if the accept loop stood
// still: callers still connect, and nothing accepts them. `address` ends in ":PORT"; returns
// whether a socket listened there.
inline bool MakeDeaf(const std::string& address) {
  const int port = std::atoi(address.substr(address.rfind(':') + 1).c_str());
  std::vector<int> polls;
  std::vector<int> listeners;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) == "anon_inode:[eventpoll]") {
      polls.push_back(fd);
    }
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
  for (const int listener : listeners) {
    for (const int poll : polls) {
      ::epoll_ctl(poll, EPOLL_CTL_DEL, listener, nullptr);
    }
  }
  return !listeners.empty();
}

}  // namespace ruvd::test
