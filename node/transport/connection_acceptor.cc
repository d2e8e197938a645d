// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/connection_acceptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::transport {
namespace {

// How often unproven connections are looked at.
constexpr int kLookMillis = 250;
// How long the listening sockets rest after an error that accepting again at once would repeat.
constexpr std::chrono::milliseconds kRest{50};
constexpr int kEventsAtOnce = 64;

absl::Status CannotListen(const std::string& address, const std::string& why) {
  return Error(absl::StatusCode::kUnavailable, reasons::kConfigInvalid,
               "cannot listen on {}: {}; is another process using the port? Choose another address",
               address, why);
}

struct ListenAddress {
  std::string host;  // without brackets
  std::string port;
};

absl::StatusOr<ListenAddress> SplitAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon + 1 == address.size()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "'{}' is not a listen address; use host:port", address);
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return ListenAddress{std::move(host), address.substr(colon + 1)};
}

uint16_t PortOf(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size);
  const auto address = PeerAddressOf(bound);
  return address ? address->port : 0;
}

absl::StatusOr<Descriptor> ListenOn(const addrinfo& info, uint16_t port,
                                    const std::string& address) {
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
  if (socket.get() < 0 ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      (info.ai_family == AF_INET6 &&
       ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_ipv6, sizeof only_ipv6) != 0) ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&bound), info.ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return CannotListen(address, std::strerror(errno));
  }
  return socket;
}

// Returns sockets on all addresses of the host, which share one port.
absl::StatusOr<std::vector<Descriptor>> ListenOnAll(const ListenAddress& where,
                                                    const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* const host = where.host.empty() ? nullptr : where.host.c_str();
  if (const int error = ::getaddrinfo(host, where.port.c_str(), &hints, &found); error != 0) {
    return CannotListen(address, ::gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  std::vector<Descriptor> sockets;
  absl::Status first_failure;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    if (info->ai_family != AF_INET && info->ai_family != AF_INET6) {
      continue;
    }
    sockaddr_storage wanted{};
    std::memcpy(&wanted, info->ai_addr, info->ai_addrlen);
    const uint16_t port =
        sockets.empty() ? PeerAddressOf(wanted)->port : PortOf(sockets.front().get());
    absl::StatusOr<Descriptor> socket = ListenOn(*info, port, address);
    if (socket.ok()) {
      sockets.push_back(*std::move(socket));
    } else {
      first_failure.Update(socket.status());
    }
  }
  if (sockets.empty()) {  // a host without IPv6 has a name with an IPv6 address all the same
    return first_failure.ok() ? CannotListen(address, "the host has no address") : first_failure;
  }
  return sockets;
}

// Returns how many bytes have arrived on a socket since it was opened.
std::optional<uint64_t> BytesReceived(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  constexpr socklen_t kNeeded = offsetof(tcp_info, tcpi_bytes_received) + sizeof(uint64_t);
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < kNeeded) {
    return std::nullopt;
  }
  return info.tcpi_bytes_received;
}

Descriptor OpenReserve() {
  return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool Watch(int poll, int fd, uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  return ::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  Descriptor former(std::exchange(fd_, other.Release()));
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

int Descriptor::Release() {
  return std::exchange(fd_, -1);
}

absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> ConnectionAcceptor::Listen(
    const std::string& address, const ConnectionLimits& limits, const Clock& clock) {
  ASSIGN_OR_RETURN(const ListenAddress where, SplitAddress(address));
  ASSIGN_OR_RETURN(std::vector<Descriptor> listeners, ListenOnAll(where, address));
  const std::string real =
      fmt::format("{}:{}", address.substr(0, address.rfind(':')), PortOf(listeners.front().get()));
  std::unique_ptr<ConnectionAcceptor> acceptor(
      new ConnectionAcceptor(real, std::move(listeners), limits, clock));
  RETURN_IF_ERROR(acceptor->Prepare());
  return acceptor;
}

ConnectionAcceptor::ConnectionAcceptor(std::string address, std::vector<Descriptor> listeners,
                                       const ConnectionLimits& limits, const Clock& clock)
    : address_(std::move(address)),
      listeners_(std::move(listeners)),
      limits_(limits),
      clock_(clock),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      reserve_(OpenReserve()),
      table_(limits) {}

ConnectionAcceptor::~ConnectionAcceptor() {
  Stop();
}

absl::Status ConnectionAcceptor::Prepare() {
  bool watched = reserve_.get() >= 0 && Watch(poll_.get(), wake_.get(), EPOLLIN);
  for (const Descriptor& listener : listeners_) {
    watched = watched && Watch(poll_.get(), listener.get(), EPOLLIN);
  }
  return watched ? absl::OkStatus() : CannotListen(address_, std::strerror(errno));
}

void ConnectionAcceptor::Start(Take take) {
  take_ = std::move(take);
  thread_ = std::thread([this] { Run(); });
}

void ConnectionAcceptor::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) {
    thread_.join();
  }
  const MutexLock lock(mutex_);
  for (const auto& [fd, peer] : std::exchange(peers_, {})) {
    ::close(fd);
  }
  sockets_.clear();
  for (const Descriptor& listener : listeners_) {
    ::shutdown(listener.get(), SHUT_RDWR);  // whoever dials is refused from now on
  }
}

void ConnectionAcceptor::Prove(std::string_view peer) {
  if (const auto address = ParsePeer(peer)) {
    const MutexLock lock(mutex_);
    table_.Prove(*address);
  }
}

ConnectionAcceptor::Counts ConnectionAcceptor::counts() const {
  const MutexLock lock(mutex_);
  Counts counts = counts_;
  counts.connections = table_.size();
  counts.unproven = table_.unproven();
  return counts;
}

void ConnectionAcceptor::Run() {
  std::array<epoll_event, kEventsAtOnce> events;
  TimePoint next_look = clock_.Now();
  for (;;) {
    const int count = ::epoll_wait(poll_.get(), events.data(), kEventsAtOnce, kLookMillis);
    {
      const MutexLock lock(mutex_);
      if (stopping_) {
        return;
      }
    }
    for (int i = 0; i < count; ++i) {
      OnEvent(events[static_cast<size_t>(i)].data.fd);
    }
    if (clock_.Now() >= next_look) {
      EndOverdue();
      next_look = clock_.Now() + std::chrono::milliseconds(kLookMillis);
    }
  }
}

void ConnectionAcceptor::OnEvent(int fd) {
  if (std::ranges::find(listeners_, fd, &Descriptor::get) != listeners_.end()) {
    Accept(fd);
  } else {
    OnHangUp(fd);
  }
}

void ConnectionAcceptor::Accept(int listener) {
  for (int accepted = 0; accepted < kEventsAtOnce; ++accepted) {  // then others have their turn
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Descriptor socket(::accept4(listener, reinterpret_cast<sockaddr*>(&from), &size,
                                SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.get() < 0) {
      const int error = errno;
      const bool full = error == EMFILE || error == ENFILE;
      if ((full && !TurnAway(listener)) || error == ENOBUFS || error == ENOMEM) {
        std::this_thread::sleep_for(kRest);
        return;  // connections that end meanwhile make room
      }
      if (error == EAGAIN) {
        return;
      }
      continue;  // this one connection has failed
    }
    if (const auto peer = PeerAddressOf(from)) {
      OnAccepted(listener, std::move(socket), *peer);
    }
  }
}

void ConnectionAcceptor::OnAccepted(int listener, Descriptor socket, const PeerAddress& peer) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Descriptor watched(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  const int fd = watched.get();
  {
    const MutexLock lock(mutex_);
    if (fd < 0) {
      ++counts_.ended[static_cast<size_t>(ConnectionEnd::kNoDescriptor)];
      return;
    }
    std::vector<ConnectionTable::Ended> ended;
    const bool added = table_.Add(peer, clock_.Now(), &ended);
    End(ended);
    if (!added) {
      ++counts_.ended[static_cast<size_t>(ConnectionEnd::kPortFull)];
      return;
    }
    // The end of a connection is reported without being asked for.
    if (!Watch(poll_.get(), fd, /*events=*/0)) {
      table_.Remove(peer);
      return;
    }
    ++counts_.accepted;
    peers_[fd] = peer;
    sockets_[peer] = watched.Release();
  }
  take_(listener, socket.Release());
}

bool ConnectionAcceptor::TurnAway(int listener) {
  reserve_ = Descriptor();
  const bool turned_away =
      Descriptor(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)).get() >= 0;
  reserve_ = OpenReserve();
  if (!turned_away) {
    return false;  // another thread took the descriptor
  }
  const MutexLock lock(mutex_);
  ++counts_.ended[static_cast<size_t>(ConnectionEnd::kNoDescriptor)];
  return true;
}

void ConnectionAcceptor::EndOverdue() {
  const MutexLock lock(mutex_);
  const auto bytes_of = [this](const PeerAddress& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto socket = sockets_.find(peer);
    return socket == sockets_.end() ? std::nullopt : BytesReceived(socket->second);
  };
  End(table_.TakeOverdue(clock_.Now(), bytes_of));
}

void ConnectionAcceptor::End(const std::vector<ConnectionTable::Ended>& ended) {
  for (const ConnectionTable::Ended& one : ended) {
    ++counts_.ended[static_cast<size_t>(one.why)];
    if (const auto socket = sockets_.find(one.peer); socket != sockets_.end()) {
      ::shutdown(socket->second, SHUT_RDWR);  // the server then closes its own descriptor
      sockets_.erase(socket);
    }
  }
}

void ConnectionAcceptor::OnHangUp(int fd) {
  const MutexLock lock(mutex_);
  const auto found = peers_.find(fd);
  if (found == peers_.end()) {
    return;
  }
  const PeerAddress peer = found->second;
  peers_.erase(found);
  if (const auto socket = sockets_.find(peer); socket != sockets_.end() && socket->second == fd) {
    sockets_.erase(socket);
    table_.Remove(peer);
  }
  // Closing is not enough to end the watch, because the server has the same socket open.
  ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  ::close(fd);
}

}  // namespace ruvd::transport
