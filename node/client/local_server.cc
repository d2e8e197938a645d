// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/client/local_server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "node/socket_file.h"
#include "node/transport/descriptor.h"

namespace ruvd::client {
namespace {

// Returns whether a process of this user takes connections at the path.
bool IsServed(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > node::kMaxSocketPath) {
    return false;
  }
  path.copy(address.sun_path, path.size());
  const transport::Descriptor socket(
      ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  ucred server{};  // of the process that listens
  socklen_t size = sizeof server;
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
             0 &&
         ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &server, &size) == 0 &&
         (server.uid == ::geteuid() || ::geteuid() == 0);
}

}  // namespace

std::optional<std::string> LocalServer(std::span<const std::string> data_folders) {
  for (const std::string& folder : data_folders) {
    const std::string path = std::filesystem::path(folder) / node::kSocketFile;
    if (!folder.empty() && IsServed(path)) {
      return kUnixServer + path;
    }
  }
  return std::nullopt;
}

}  // namespace ruvd::client
