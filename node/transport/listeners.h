// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "node/transport/descriptor.h"

namespace ruvd::transport {

// The file of a listening unix socket, which goes with this object, unless another file has taken
// its place.
class SocketFile {
 public:
  SocketFile() = default;
  // Takes over the file that was just bound, and the lock that keeps other nodes from its path.
  SocketFile(std::string path, Descriptor lock);
  SocketFile(SocketFile&& other) noexcept
      : path_(std::exchange(other.path_, "")),
        inode_(other.inode_),
        lock_(std::move(other.lock_)) {}
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile() { Remove(); }
  // Removes the file. Idempotent.
  void Remove();

 private:
  std::string path_;  // empty: no file
  ino_t inode_ = 0;
  Descriptor lock_;
};

// The non-blocking sockets on which a port listens.
struct Listeners {
  std::string address;  // as it was asked for, with the real port
  std::vector<Descriptor> sockets;
  SocketFile file;  // of a unix socket
};

// The beginning of the address of a unix socket: "unix:PATH".
inline constexpr std::string_view kUnixScheme = "unix:";

// Listens on "HOST:PORT" or "[IPV6]:PORT", on all addresses of the host, which share one port; port
// 0 takes a free one. CONFIG_INVALID for another text, a host without address, or an address that
// cannot be bound.
absl::StatusOr<Listeners> ListenOnTcp(const std::string& address);

// Listens on a unix socket at `path`, for the own user only (mode 0600). What a dead process left
// there is replaced. PATH.lock is locked as long as the file is there, and stays behind.
// CONFIG_INVALID and UNAVAILABLE for a path that is too long (kMaxSocketPath), cannot be bound, or
// leads to a socket of which this process cannot find out whether it is in use; CONFIG_INVALID and
// FAILED_PRECONDITION if a process listens there, or the file is no socket. An error leaves what
// lay there.
absl::StatusOr<Listeners> ListenOnUnix(const std::string& path);

// Returns an address at which a program of this machine reaches a listening socket: its own, or
// loopback where it listens on all addresses.
sockaddr_storage LocalAddressOf(int listener);

// Returns whether a TCP socket listens and has room for one more connection that waits to be
// accepted. If so, one that cannot be made is refused or lost on its way.
bool HasRoomInQueue(int listener);

// Returns the error for an address on which `why` keeps this process from listening.
absl::Status CannotListen(const std::string& address, const std::string& why);

}  // namespace ruvd::transport
