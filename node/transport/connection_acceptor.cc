// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/connection_acceptor.h"

#include <fcntl.h>
#include <linux/tcp.h>
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

// Ends a connection that a server may be reading: what has arrived is thrown away, so that the
// server finds the end, and not the rest of a flood.
void EndSocket(int socket) {
  ::shutdown(socket, SHUT_RDWR);
  std::array<char, 16 << 10> rest;
  while (::recv(socket, rest.data(), rest.size(), MSG_DONTWAIT) > 0) {
  }
}

Descriptor OpenReserve() {
  return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool Watch(int poll, int operation, int fd, uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  return ::epoll_ctl(poll, operation, fd, &event) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> ConnectionAcceptor::Listen(
    const std::string& address, const ConnectionLimits& limits, const Clock& clock) {
  ASSIGN_OR_RETURN(Listeners listeners, address.starts_with(kUnixScheme)
                                            ? ListenOnUnix(address.substr(kUnixScheme.size()))
                                            : ListenOnTcp(address));
  std::unique_ptr<ConnectionAcceptor> acceptor(
      new ConnectionAcceptor(std::move(listeners), limits, clock));
  RETURN_IF_ERROR(acceptor->Prepare());
  return acceptor;
}

ConnectionAcceptor::ConnectionAcceptor(Listeners listeners, const ConnectionLimits& limits,
                                       const Clock& clock)
    : address_(std::move(listeners.address)),
      listeners_(std::move(listeners.sockets)),
      file_(std::move(listeners.file)),
      is_unix_(address_.starts_with(kUnixScheme)),
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
  handing_over_ = std::thread([this] { HandOverAll(); });
}

void ConnectionAcceptor::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    accepted_.NotifyAll();
    for (const auto& [peer, fd] : sockets_) {
      const bool is_handed_over = handing_ && handing_->watched == fd;
      if (table_.IsUnproven(peer) || is_handed_over) {
        EndSocket(fd);  // ends a parser that would keep a thread from being joined
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
  file_.Remove();
}

void ConnectionAcceptor::Prove(std::string_view peer) {
  if (const auto address = ParsePeer(peer)) {
    Prove(*address);
  }
}

void ConnectionAcceptor::Prove(const PeerAddress& peer) {
  const MutexLock lock(mutex_);
  if (!table_.Prove(peer)) {
    return;
  }
  ++counts_.proven;
  if (const auto socket = sockets_.find(peer); socket != sockets_.end()) {
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

void ConnectionAcceptor::ExpectOwn(const PeerAddress& own) {
  const MutexLock lock(mutex_);
  own_ = own;
  own_stage_ = OwnStage::kExpected;
}

ConnectionAcceptor::OwnStage ConnectionAcceptor::EndOwn() {
  const MutexLock lock(mutex_);
  own_.reset();
  std::erase_if(waiting_, &Accepted::is_own);
  return own_stage_;
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

void ConnectionAcceptor::HandOverAll() {
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
      if (!next.is_own) {
        handing_ = {.peer = next.peer, .watched = next.watched, .since = clock_.Now()};
      }
    }
    take_(next.listener, next.socket.Release());
    const MutexLock lock(mutex_);
    handing_.reset();
    if (!next.is_own) {
      ++counts_.handed_over;
    } else if (own_ == next.peer) {
      own_stage_ = OwnStage::kHandedOver;
    }
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

bool ConnectionAcceptor::IsAllowedUser(int socket, uid_t* user) {
  ucred caller{};  // of the process that connected, at that time
  socklen_t size = sizeof caller;
  const bool known = ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &caller, &size) == 0;
  *user = caller.uid;
  return known && (caller.uid == ::geteuid() || caller.uid == 0);
}

bool ConnectionAcceptor::TakeOwn(int listener, const PeerAddress& peer, Descriptor* socket) {
  const MutexLock lock(mutex_);
  if (own_ != peer) {
    ++counts_.arrived;
    return false;
  }
  own_stage_ = OwnStage::kAccepted;
  waiting_.push_front(
      {.listener = listener, .is_own = true, .peer = peer, .socket = std::move(*socket)});
  accepted_.NotifyOne();
  return true;
}

void ConnectionAcceptor::OnAccepted(int listener, Descriptor socket, PeerAddress peer) {
  uid_t user = 0;
  if (is_unix_ && !IsAllowedUser(socket.get(), &user)) {
    socket = Descriptor();
    hear_foreign_(user);
    const MutexLock lock(mutex_);
    ++counts_.arrived;
    Count(ConnectionEnd::kForeignUser);
    return;
  }
  if (TakeOwn(listener, peer, &socket)) {
    return;
  }
  if (is_unix_) {
    peer = PeerOfUser(user, ++users_calls_);
  } else {
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    LimitBuffer(socket.get(), limits_.unproven_buffer);
  }
  Descriptor watched(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  const MutexLock lock(mutex_);
  if (watched.get() < 0) {
    Count(ConnectionEnd::kNoDescriptor);
    return;
  }
  const int fd = watched.get();
  std::erase_if(waiting_, [this](const Accepted& one) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto known = sockets_.find(one.peer);
    const bool has_ended = known == sockets_.end() || known->second != one.watched;
    return has_ended && !one.is_own;
  });
  if (waiting_.size() >= kMaxWaiting) {
    Count(ConnectionEnd::kPortFull);
  } else if (Admit(peer, std::move(watched))) {
    waiting_.push_back(
        {.listener = listener, .watched = fd, .peer = peer, .socket = std::move(socket)});
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
  if (is_unix_) {
    table_.Prove(peer);
    ++counts_.proven;
  }
  if (!Watch(poll_.get(), EPOLL_CTL_ADD, fd, is_unix_ ? 0 : kUnprovenEvents)) {
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
  ++counts_.arrived;
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
  EndHeldHandOver();
}

void ConnectionAcceptor::EndHeldHandOver() {
  if (!handing_ || waiting_.empty() || clock_.Now() - handing_->since < limits_.hand_over) {
    return;
  }
  const auto socket = sockets_.find(handing_->peer);
  if (socket != sockets_.end() && socket->second == handing_->watched) {
    table_.Remove(handing_->peer);
    End({{handing_->peer, ConnectionEnd::kHeldPort}});
  }
}

void ConnectionAcceptor::End(const std::vector<ConnectionTable::Ended>& ended) {
  for (const ConnectionTable::Ended& one : ended) {
    Count(one.why);
    if (const auto socket = sockets_.find(one.peer); socket != sockets_.end()) {
      EndSocket(socket->second);  // the server then closes its own descriptor
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
