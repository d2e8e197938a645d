// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/port_dial.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "node/transport/descriptor.h"
#include "node/transport/peer_address.h"

namespace ruvd::transport {
namespace {

using std::chrono::milliseconds;

// A dial looks this often whether it was stopped.
constexpr milliseconds kWait{50};
// The preface of a client (RFC 9113, section 3.4) and an empty SETTINGS frame.
constexpr std::string_view kHttp2Hello("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr std::string_view kHttp1Hello(
    "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
constexpr std::string_view kHttp1Answer("HTTP/1.1 ");
// The head of a frame, of which byte 3 is the type; a TLS record begins with its own.
constexpr size_t kHeadBytes = 9;
static_assert(kHttp1Answer.size() == kHeadBytes);
constexpr unsigned char kSettings = 4;
constexpr unsigned char kTlsAlert = 21;
constexpr unsigned char kTlsHandshake = 22;

// Returns the first message of a TLS client; empty if OpenSSL fails.
std::string TlsHello() {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                             SSL_CTX_free);
  const std::unique_ptr<SSL, void (*)(SSL*)> client(
      context == nullptr ? nullptr : SSL_new(context.get()), SSL_free);
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (client == nullptr || in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    return "";
  }
  SSL_set_bio(client.get(), in, out);  // the client owns both
  static constexpr std::array<unsigned char, 3> kProtocols = {2, 'h', '2'};
  SSL_set_alpn_protos(client.get(), kProtocols.data(), kProtocols.size());
  SSL_set_connect_state(client.get());
  SSL_do_handshake(client.get());  // writes the message, and wants the answer
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out, &bytes);
  return size > 0 ? std::string(bytes, static_cast<size_t>(size)) : "";
}

// Returns how a client of the protocol begins; empty if OpenSSL fails.
std::string HelloOf(PortProtocol protocol) {
  switch (protocol) {
    case PortProtocol::kHttp1:
      return std::string(kHttp1Hello);
    case PortProtocol::kHttp2:
      return std::string(kHttp2Hello);
    case PortProtocol::kTls:
      return TlsHello();
  }
  return "";
}

// Returns whether the socket has one of the events, an error or an end within the time that is
// left, of which this takes what it waits.
bool Await(int socket, int16_t events, milliseconds& left, const std::function<bool()>& stopped) {
  for (; left > milliseconds(0); left -= kWait) {
    pollfd entry{.fd = socket, .events = events, .revents = 0};
    if (::poll(&entry, 1, static_cast<int>(kWait.count())) == 1) {
      return true;
    }
    if (stopped && stopped()) {
      return false;
    }
  }
  return false;
}

bool IsAnswer(PortProtocol protocol, const std::array<unsigned char, kHeadBytes>& head) {
  switch (protocol) {
    case PortProtocol::kHttp1:
      return std::ranges::equal(head, kHttp1Answer);
    case PortProtocol::kHttp2:
      return head[3] == kSettings;
    case PortProtocol::kTls:
      return head[0] == kTlsHandshake || head[0] == kTlsAlert;
  }
  return false;
}

// One attempt to be served.
class Dial {
 public:
  Dial(ConnectionAcceptor& acceptor, PortProtocol protocol, milliseconds patience,
       const std::function<bool()>& stopped)
      : acceptor_(acceptor), protocol_(protocol), patience_(patience), stopped_(stopped) {}

  DialResult Run() {
    const std::string hello = HelloOf(protocol_);
    const std::optional<PeerAddress> own = hello.empty() ? std::nullopt : Bind();
    if (!own) {
      return {PortSign::kUnknown, fmt::format("cannot dial: {}", std::strerror(errno))};
    }
    const ConnectionAcceptor::Counts before = acceptor_.counts();
    acceptor_.ExpectOwn(*own);
    const bool answered = Connect() && Ask(hello);
    const ConnectionAcceptor::OwnStage stage = acceptor_.EndOwn();
    if (answered && stage != ConnectionAcceptor::OwnStage::kExpected) {
      return {PortSign::kAlive, ""};
    }
    if (stopped_ && stopped_()) {
      return {PortSign::kUnknown, "the dial was stopped"};
    }
    return Judge(stage, before, acceptor_.counts(), answered);
  }

 private:
  // Binds a socket to an address from which the port is reached.
  std::optional<PeerAddress> Bind() {
    to_ = acceptor_.local_address();
    sockaddr_storage own = to_;
    socklen_t own_size = 0;
    if (own.ss_family == AF_UNIX) {
      size_ = sizeof(sockaddr_un);
      own_size = sizeof own.ss_family;  // the kernel finds a name (unix(7), autobind)
    } else if (own.ss_family == AF_INET) {
      size_ = own_size = sizeof(sockaddr_in);
      reinterpret_cast<sockaddr_in&>(own).sin_port = 0;
    } else {
      size_ = own_size = sizeof(sockaddr_in6);
      reinterpret_cast<sockaddr_in6&>(own).sin6_port = 0;
    }
    socket_ = Descriptor(::socket(own.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // The end of the dial leaves nothing behind that would keep its port taken.
    const linger reset{.l_onoff = 1, .l_linger = 0};
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (socket_.get() < 0 ||
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset) != 0 ||
        (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), own_size) != 0 &&
         (!UseIpv4Loopback(own) ||
          ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), own_size) != 0)) ||
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
      return std::nullopt;
    }
    return PeerAddressOf(bound);
  }

  // Where binding failed because the machine has no IPv6 loopback, a port on all addresses is
  // reached over IPv4. Changes both ends; returns false, and changes nothing, elsewhere.
  bool UseIpv4Loopback(sockaddr_storage& own) {
    if (errno != EADDRNOTAVAIL || own.ss_family != AF_INET6) {
      return false;
    }
    for (sockaddr_storage* const end : {&own, &to_}) {
      in6_addr& host = reinterpret_cast<sockaddr_in6*>(end)->sin6_addr;
      host = in6addr_any;
      host.s6_addr[10] = host.s6_addr[11] = 0xff;  // ::ffff:127.0.0.1
      host.s6_addr[12] = 127;
      host.s6_addr[15] = 1;
    }
    return true;
  }

  bool Connect() {
    int error = EAGAIN;
    // A unix socket says at once that too many wait to be accepted.
    for (milliseconds left = patience_; error == EAGAIN && left > milliseconds(0); left -= kWait) {
      if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to_), size_) == 0) {
        return true;
      }
      error = errno;
      if (error == EAGAIN &&
          (::poll(nullptr, 0, static_cast<int>(kWait.count())) != 0 || (stopped_ && stopped_()))) {
        break;
      }
    }
    if (error == EINPROGRESS) {
      error = ETIMEDOUT;
      socklen_t size = sizeof error;
      milliseconds left = patience_;
      if (Await(socket_.get(), POLLOUT, left, stopped_)) {
        ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
      }
    }
    error_ = error;
    return error == 0;
  }

  // Sends the beginning of a connection, and returns whether the server answers.
  bool Ask(const std::string& hello) {
    ::send(socket_.get(), hello.data(), hello.size(), MSG_NOSIGNAL);
    std::array<unsigned char, kHeadBytes> head{};
    milliseconds left = patience_;
    for (size_t known = 0; known < head.size();) {
      if (!Await(socket_.get(), POLLIN, left, stopped_)) {
        return false;
      }
      const ssize_t more = ::recv(socket_.get(), head.data() + known, head.size() - known, 0);
      if (more <= 0) {
        was_ended_ = true;
        return false;
      }
      known += static_cast<size_t>(more);
    }
    is_strange_ = !IsAnswer(protocol_, head);
    return !is_strange_;
  }

  // Whether a connection over a unix socket came to another process, which the kernel names.
  bool IsOfAnotherProcess() const {
    ucred server{};
    socklen_t size = sizeof server;
    return error_ == 0 &&
           ::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &server, &size) == 0 &&
           server.pid != ::getpid();
  }

  // Whether the port worked on connections of others while it did not on this one.
  DialResult Judge(ConnectionAcceptor::OwnStage stage, const ConnectionAcceptor::Counts& before,
                   const ConnectionAcceptor::Counts& after, bool answered) const {
    const bool is_unix = to_.ss_family == AF_UNIX;
    if (is_unix && error_ != 0 && error_ != EAGAIN) {
      return {PortSign::kGone,
              fmt::format("its file leads no caller to it ({}); a restart makes it again",
                          std::strerror(error_))};
    }
    if (is_unix && (answered || IsOfAnotherProcess())) {
      return {PortSign::kGone,
              "another process listens at its path; set api.socket to another one and restart"};
    }
    if (!is_unix && (answered || (error_ != 0 && acceptor_.has_room_in_queue()))) {
      return after.arrived > before.arrived ? DialResult{PortSign::kAlive, ""} : NotReached();
    }
    bool works = false;
    std::string detail;
    switch (stage) {
      case ConnectionAcceptor::OwnStage::kExpected:
        works = after.arrived > before.arrived;
        detail = error_ != 0 ? fmt::format("a connection failed: {}", std::strerror(error_))
                             : "a connection was not accepted";
        break;
      case ConnectionAcceptor::OwnStage::kAccepted:
        works = after.handed_over > before.handed_over;
        detail = "a connection was accepted, and the server did not take it over";
        break;
      case ConnectionAcceptor::OwnStage::kHandedOver:
        works = after.proven > before.proven;
        detail = "the server took a connection over and did not answer";
        break;
    }
    if (is_strange_ || was_ended_) {
      detail = is_strange_ ? "the server answered with other bytes than its protocol's"
                           : "a connection was ended without an answer";
    }
    return works ? DialResult{PortSign::kAlive, ""} : DialResult{PortSign::kSilent, detail};
  }

  // The port is not to blame, and others may reach it.
  DialResult NotReached() const {
    return {PortSign::kUnknown,
            error_ == 0 ? "another program answers at its address"
                        : fmt::format("a connection to it failed ({}), and it has room for more; "
                                      "let the packet filter allow connections of this machine "
                                      "to itself",
                                      std::strerror(error_))};
  }

  ConnectionAcceptor& acceptor_;
  const PortProtocol protocol_;
  const milliseconds patience_;
  const std::function<bool()>& stopped_;
  sockaddr_storage to_{};
  socklen_t size_ = 0;
  Descriptor socket_;
  int error_ = 0;  // of connecting
  bool was_ended_ = false;
  bool is_strange_ = false;
};

}  // namespace

DialResult DialOwnPort(ConnectionAcceptor& acceptor, PortProtocol protocol, milliseconds patience,
                       const std::function<bool()>& stopped) {
  return Dial(acceptor, protocol, patience, stopped).Run();
}

}  // namespace ruvd::transport
