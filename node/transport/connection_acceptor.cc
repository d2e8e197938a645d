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

#include "base/host_port.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::transport {
namespace {

// How often unproven connections are looked at.
constexpr int kLookMillis = 250;
constexpr int kEventsAtOnce = 64;
// Sockets that may wait to be handed over.
constexpr size_t kMaxWaiting = 128;
// While a connection is unproven, each arrival of bytes is looked at.
constexpr uint32_t kUnprovenEvents = EPOLLIN | EPOLLET;

absl::Status CannotListen(const std::string& address, const std::string& why) {
  return Error(absl::StatusCode::kUnavailable, reasons::kConfigInvalid,
               "cannot listen on {}: {}; is another process using the port? Choose another address",
               address, why);
}

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

// The kernel lets no more bytes wait on the socket than these.
void LimitBuffer(int socket, int bytes) {
  ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

// Lets the kernel size the buffer to the line again.
void FreeBuffer(int socket) {
  constexpr int kUnlocked = 0;
  ::setsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &kUnlocked, sizeof kUnlocked);
}

Descriptor OpenReserve() {
  return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool Watch(int poll, int operation, int fd, uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  return ::epoll_ctl(poll, operation, fd, &event) == 0;
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
  const std::optional<HostPort> where = ParseHostPort(address);
  if (!where) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "'{}' is not a listen address; use host:port", address);
  }
  ASSIGN_OR_RETURN(std::vector<Descriptor> listeners, ListenOnAll(*where, address));
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
  bool watched = reserve_.get() >= 0 && Watch(poll_.get(), EPOLL_CTL_ADD, wake_.get(), EPOLLIN);
  for (const Descriptor& listener : listeners_) {
    watched = watched && Watch(poll_.get(), EPOLL_CTL_ADD, listener.get(), EPOLLIN);
  }
  return watched ? absl::OkStatus() : CannotListen(address_, std::strerror(errno));
}

void ConnectionAcceptor::Start(Take take) {
  take_ = std::move(take);
  thread_ = std::thread([this] { Run(); });
  handing_over_ = std::thread([this] { HandOver(); });
}

void ConnectionAcceptor::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    accepted_.NotifyAll();
    for (const auto& [peer, fd] : sockets_) {
      if (table_.IsUnproven(peer)) {
        ::shutdown(fd, SHUT_RDWR);  // ends a parser that would keep a thread from being joined
      }
    }
  }
  ::eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) {
    thread_.join();
  }
  if (handing_over_.joinable()) {
    handing_over_.join();
  }
  const MutexLock lock(mutex_);
  waiting_.clear();
  for (const auto& [fd, peer] : std::exchange(peers_, {})) {
    ::close(fd);
  }
  sockets_.clear();
  for (const Descriptor& listener : listeners_) {
    ::shutdown(listener.get(), SHUT_RDWR);  // a caller is refused from now on
  }
}

void ConnectionAcceptor::Prove(std::string_view peer) {
  const auto address = ParsePeer(peer);
  const MutexLock lock(mutex_);
  if (!address || !table_.Prove(*address)) {
    return;
  }
  if (const auto socket = sockets_.find(*address); socket != sockets_.end()) {
    FreeBuffer(socket->second);
    Watch(poll_.get(), EPOLL_CTL_MOD, socket->second, /*events=*/0);
  }
}

void ConnectionAcceptor::Unprove(std::string_view peer) {
  const auto address = ParsePeer(peer);
  const MutexLock lock(mutex_);
  const auto socket = address ? sockets_.find(*address) : sockets_.end();
  if (socket != sockets_.end() &&
      table_.Unprove(*address, clock_.Now(), BytesReceived(socket->second).value_or(0))) {
    LimitBuffer(socket->second, limits_.unproven_buffer);
    Watch(poll_.get(), EPOLL_CTL_MOD, socket->second, kUnprovenEvents);
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
      const epoll_event& event = events[static_cast<size_t>(i)];
      OnEvent(event.data.fd, event.events);
    }
    if (clock_.Now() >= next_look) {
      EndOverdue();
      for (const Descriptor& listener : listeners_) {
        Watch(poll_.get(), EPOLL_CTL_MOD, listener.get(), EPOLLIN);
      }
      next_look = clock_.Now() + std::chrono::milliseconds(kLookMillis);
    }
  }
}

void ConnectionAcceptor::HandOver() {
  for (;;) {
    Accepted next;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopping_) {
        accepted_.Wait(mutex_);
      }
      if (stopping_) {
        return;
      }
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    take_(next.listener, next.socket.Release());
  }
}

void ConnectionAcceptor::OnEvent(int fd, uint32_t events) {
  if (std::ranges::find(listeners_, fd, &Descriptor::get) != listeners_.end()) {
    Accept(fd);
  } else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    OnHangUp(fd);
  } else {
    OnBytes(fd);
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
        Watch(poll_.get(), EPOLL_CTL_MOD, listener, /*events=*/0);
        return;  // until the next look; connections that end meanwhile make room
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
  LimitBuffer(socket.get(), limits_.unproven_buffer);
  Descriptor watched(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  const MutexLock lock(mutex_);
  if (watched.get() < 0) {
    Count(ConnectionEnd::kNoDescriptor);
    return;
  }
  const int fd = watched.get();
  std::erase_if(waiting_, [this](const Accepted& one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto known = sockets_.find(one.peer);
    return known == sockets_.end() || known->second != one.watched;  // it has ended
  });
  if (waiting_.size() >= kMaxWaiting) {
    Count(ConnectionEnd::kPortFull);
  } else if (Admit(peer, std::move(watched))) {
    waiting_.push_back({listener, fd, peer, std::move(socket)});
    accepted_.NotifyOne();
  }
}

bool ConnectionAcceptor::Admit(const PeerAddress& peer, Descriptor watched) {
  std::vector<ConnectionTable::Ended> ended;
  const std::optional<ConnectionEnd> refused = table_.Add(peer, clock_.Now(), &ended);
  End(ended);
  if (refused) {
    Count(*refused);
    return false;
  }
  const int fd = watched.get();
  if (!Watch(poll_.get(), EPOLL_CTL_ADD, fd, kUnprovenEvents)) {
    table_.Remove(peer);
    return false;
  }
  ++counts_.accepted;
  peers_[fd] = peer;
  sockets_[peer] = watched.Release();
  return true;
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
  Count(ConnectionEnd::kNoDescriptor);
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
    Count(one.why);
    if (const auto socket = sockets_.find(one.peer); socket != sockets_.end()) {
      ::shutdown(socket->second, SHUT_RDWR);  // the server then closes its own descriptor
      sockets_.erase(socket);
    }
  }
}

void ConnectionAcceptor::OnBytes(int fd) {
  const MutexLock lock(mutex_);
  const auto found = peers_.find(fd);
  if (found == peers_.end() || !table_.IsTooMuch(found->second, BytesReceived(fd).value_or(0))) {
    return;
  }
  const auto socket = sockets_.find(found->second);
  if (socket != sockets_.end() && socket->second == fd) {
    table_.Remove(found->second);
    End({{found->second, ConnectionEnd::kUnprovenBytes}});
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
