// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/listeners.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/host_port.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/socket_file.h"
#include "node/transport/peer_address.h"

namespace ruvd::transport {
namespace {

uint16_t PortOf(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  const auto address = PeerAddressOf(bound);
  return address ? address->port : 0;
}

// Returns a descriptor of -1, and sets errno, if the address cannot be bound.
Descriptor ListenOn(const addrinfo& info, uint16_t port) {
  Descriptor socket(::socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_storage bound{};
  std::memcpy(&bound, info.ai_addr, info.ai_addrlen);
  (info.ai_family == AF_INET ? reinterpret_cast<sockaddr_in&>(bound).sin_port
                             : reinterpret_cast<sockaddr_in6&>(bound).sin6_port) = htons(port);
  const bool any_ipv6 =
      info.ai_family == AF_INET6 &&
      IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(bound).sin6_addr);
  const int only_ipv6 = any_ipv6 ? 0 : 1;
  const bool listens =
      socket.get() >= 0 &&
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      (info.ai_family == AF_INET ||
       ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, sizeof only_ipv6) == 0) &&
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&bound), info.ai_addrlen) == 0 &&
      ::listen(socket.get(), SOMAXCONN) == 0;
  const int error = errno;
  if (!listens) {
    socket = Descriptor();
    errno = error;
  }
  return socket;
}

// Returns sockets on all addresses of the host, which share one port.
absl::StatusOr<std::vector<Descriptor>> ListenOnAll(const HostPort& where,
                                                    const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port_text = std::to_string(where.port);
  if (const int error = ::getaddrinfo(where.host.c_str(), port_text.c_str(), &hints, &found);
      error != 0) {
    return CannotListen(address, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  std::vector<Descriptor> sockets;
  std::string missing = "the host has no address";
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    if (info->ai_family != AF_INET && info->ai_family != AF_INET6) {
      continue;
    }
    const uint16_t port = sockets.empty() ? where.port : PortOf(sockets.front().get());
    Descriptor socket = ListenOn(*info, port);
    const int error = errno;
    if (socket.get() >= 0) {
      sockets.push_back(std::move(socket));
    } else if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT) {
      missing = std::strerror(error);  // such as an IPv6 address of a name, on a host without IPv6
    } else {
      return CannotListen(address, std::strerror(error));
    }
  }
  if (sockets.empty()) {
    return CannotListen(address, missing);
  }
  return sockets;
}

absl::Status CannotUse(absl::StatusCode code, const std::string& path, const std::string& why) {
  return Error(code, reasons::kConfigInvalid, "cannot listen on {}{}: {}", kUnixScheme, path, why);
}

absl::Status InUse(const std::string& path) {
  return CannotUse(absl::StatusCode::kFailedPrecondition, path,
                   "another process listens there; stop it, or set api.socket to another path, or "
                   "to \"\" for no socket");
}

absl::Status CannotBind(const std::string& path, int error) {
  return CannotUse(absl::StatusCode::kUnavailable, path,
                   fmt::format("{}; set api.socket to a path in a folder that this user may "
                               "write, or to \"\" for no socket",
                               std::strerror(error)));
}

// Locks the path for this process. Without a lock a second node could take the socket of one that
// has bound it and does not listen yet for that of a dead process.
absl::StatusOr<Descriptor> Lock(const std::string& path) {
  Descriptor lock(::open((path + ".lock").c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                         S_IRUSR | S_IWUSR));
  if (lock.get() < 0 || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    return error == EWOULDBLOCK ? InUse(path) : CannotBind(path, error);
  }
  return lock;
}

// Removes the socket of a dead process, and nothing else.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0) {
    return absl::OkStatus();  // binding says what else is wrong
  }
  if (!S_ISSOCK(file.st_mode)) {
    return CannotUse(absl::StatusCode::kFailedPrecondition, path,
                     "a file that is no socket lies there; move it away, or set api.socket to "
                     "another path, or to \"\" for no socket");
  }
  const Descriptor caller(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool connected =
      caller.get() >= 0 &&
      ::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  if (connected || error == EAGAIN) {
    return InUse(path);
  }
  if (error != ECONNREFUSED && error != ENOENT) {  // ENOENT: it was removed meanwhile
    return CannotUse(absl::StatusCode::kUnavailable, path,
                     fmt::format("a socket lies there that cannot be tried: {}; remove it, or set "
                                 "api.socket to another path, or to \"\" for no socket",
                                 std::strerror(error)));
  }
  ::unlink(path.c_str());
  return absl::OkStatus();
}

}  // namespace

SocketFile::SocketFile(std::string path, Descriptor lock)
    : path_(std::move(path)), lock_(std::move(lock)) {
  struct stat file{};
  inode_ = ::lstat(path_.c_str(), &file) == 0 ? file.st_ino : 0;
}

void SocketFile::Remove() {
  struct stat file{};
  const std::string path = std::exchange(path_, "");
  if (!path.empty() && ::lstat(path.c_str(), &file) == 0 && file.st_ino == inode_) {
    ::unlink(path.c_str());
  }
  lock_ = Descriptor();
}

absl::Status CannotListen(const std::string& address, const std::string& why) {
  return Error(absl::StatusCode::kUnavailable, reasons::kConfigInvalid,
               "cannot listen on {}: {}; is another process using the port? Choose another address",
               address, why);
}

absl::StatusOr<Listeners> ListenOnTcp(const std::string& address) {
  const std::optional<HostPort> where = ParseHostPort(address);
  if (!where) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "'{}' is not a listen address; use host:port", address);
  }
  ASSIGN_OR_RETURN(std::vector<Descriptor> sockets, ListenOnAll(*where, address));
  std::string real =
      fmt::format("{}:{}", address.substr(0, address.rfind(':')), PortOf(sockets.front().get()));
  return Listeners{.address = std::move(real), .sockets = std::move(sockets), .file = {}};
}

absl::StatusOr<Listeners> ListenOnUnix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  static_assert(sizeof address.sun_path == node::kMaxSocketPath + 1);
  if (path.size() > node::kMaxSocketPath) {
    return CannotUse(
        absl::StatusCode::kUnavailable, path,
        fmt::format("the path has {} bytes, and the kernel takes {}; set api.socket to "
                    "a shorter one, or to \"\" for no socket",
                    path.size(), node::kMaxSocketPath));
  }
  path.copy(address.sun_path, path.size());
  ASSIGN_OR_RETURN(Descriptor lock, Lock(path));
  RETURN_IF_ERROR(RemoveStale(path, address));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // Linux gives the file the mode of the socket, so that it is closed to others from the beginning.
  if (socket.get() < 0 || ::fchmod(socket.get(), S_IRUSR | S_IWUSR) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return CannotBind(path, errno);
  }
  SocketFile file(path, std::move(lock));
  if (::listen(socket.get(), SOMAXCONN) != 0) {
    return CannotUse(absl::StatusCode::kUnavailable, path, std::strerror(errno));
  }
  Listeners listeners{
      .address = std::string(kUnixScheme) + path, .sockets = {}, .file = std::move(file)};
  listeners.sockets.push_back(std::move(socket));
  return listeners;
}

sockaddr_storage LocalAddressOf(int listener) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size);
  if (bound.ss_family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(bound);
    if (v4.sin_addr.s_addr == htonl(INADDR_ANY)) {
      v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    }
  } else if (bound.ss_family == AF_INET6) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(bound);
    if (IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr)) {
      v6.sin6_addr = in6addr_loopback;
    }
  }
  return bound;
}

bool HasRoomInQueue(int listener) {
  tcp_info info{};
  socklen_t size = sizeof info;
  // Where a socket listens, the kernel tells here how many wait, and how many may (tcp_get_info).
  return ::getsockopt(listener, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         info.tcpi_state == TCP_LISTEN && info.tcpi_unacked < info.tcpi_sacked;
}

}  // namespace ruvd::transport
