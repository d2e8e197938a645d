// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "base/status.h"
#include "node/http/session.h"
#include "node/log/log.h"
#include "node/transport/descriptor.h"

namespace ruvd::http {
namespace {

namespace asio = boost::asio;

// Lets the kernel ask a caller that is silent during a long answer whether it is there, as gRPC's
// pings do. Sockets that cannot are served without it.
void NoticeLoss(int socket) {
  constexpr int kOn = 1;
  constexpr int kIdleSeconds = 60;
  constexpr int kSecondsBetween = 10;
  constexpr int kTries = 3;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleSeconds, sizeof kIdleSeconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kSecondsBetween, sizeof kSecondsBetween);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kTries, sizeof kTries);
}

class ServerImpl final : public Server {
 public:
  ServerImpl(ServerOptions options, std::unique_ptr<transport::ConnectionAcceptor> acceptor,
             const Clock& clock)
      : shared_(std::move(options), clock) {
    shared_.acceptor = std::move(acceptor);
  }
  ~ServerImpl() override { Shutdown(Duration(0)); }

  void Accept() override {
    thread_ = std::thread([this] { RunIo(); });
    shared_.acceptor->Start([this](int, int socket) {
      NoticeLoss(socket);
      asio::post(io_, [this, held = std::make_shared<transport::Descriptor>(socket)] {
        OnConnection(held->Release());
      });
    });
  }

  void Shutdown(Duration grace) override {
    if (std::exchange(stopped_, true)) {
      return;
    }
    shared_.acceptor->Stop();
    asio::post(io_, [this, grace] { Drain(grace); });
    work_.reset();
    if (thread_.joinable()) {
      thread_.join();
    }
    shared_.sessions.clear();
  }

  const std::string& address() const override { return shared_.acceptor->address(); }
  transport::ConnectionAcceptor& acceptor() override { return *shared_.acceptor; }
  const transport::ConnectionAcceptor& acceptor() const override { return *shared_.acceptor; }
  Counts counts() const override {
    Counts counts{.requests = shared_.requests.load(), .ended = {}};
    std::ranges::transform(shared_.ended, counts.ended.begin(),
                           [](const std::atomic<uint64_t>& count) { return count.load(); });
    return counts;
  }

 private:
  void RunIo() {
    for (bool done = false; !done;) {
      try {
        io_.run();
        done = true;
      } catch (const std::exception& error) {
        LogError("an HTTP connection failed: {}", error.what());
      }
    }
  }

  void OnConnection(int socket) {
    const std::shared_ptr<ssl_ctx_st> tls = CurrentTls();
    const auto session = MakeSession(shared_, io_, socket, tls.get());
    if (shared_.draining) {
      session->Close();
      return;
    }
    shared_.sessions.insert(session);
    session->Start();
  }

  // Returns null for plain connections.
  std::shared_ptr<ssl_ctx_st> CurrentTls() {
    transport::TlsServerContext* const tls = shared_.options.tls.get();
    if (tls == nullptr) {
      return nullptr;
    }
    auto current = tls->Current();
    if (const absl::Status problem = tls->TakeProblem(); !problem.ok()) {
      LogWarning("the port for HTTP keeps its former certificate, because the new one fails: {}",
                 MessageOf(problem));
    }
    return current;
  }

  void Drain(Duration grace) {
    shared_.draining = true;
    for (const std::shared_ptr<Session>& session : shared_.sessions) {
      session->Drain();
    }
    shared_.on_last_end = [this] { end_.cancel(); };
    if (!shared_.sessions.empty()) {
      end_.expires_after(std::chrono::duration_cast<asio::steady_timer::duration>(grace));
      end_.async_wait([this](boost::system::error_code) {
        const auto sessions = shared_.sessions;  // closing changes the set later
        for (const std::shared_ptr<Session>& session : sessions) {
          session->Close();
        }
      });
    }
  }

  SessionState shared_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  asio::steady_timer end_{io_};
  std::thread thread_;
  bool stopped_ = false;
};

}  // namespace

std::string_view RequestEndName(RequestEnd end) {
  switch (end) {
    case RequestEnd::kMalformed:
      return "malformed_request";
    case RequestEnd::kTooLate:
      return "request_too_slow";
    case RequestEnd::kTlsFailed:
      return "tls_failed";
    case RequestEnd::kCallerLeft:
      return "caller_left";
    case RequestEnd::kSentAhead:
      return "sent_ahead";
    case RequestEnd::kCutOff:
      return "cut_off";
    case RequestEnd::kDrained:
      return "drained";
    case RequestEnd::kCallerSlow:
      return "caller_slow";
    case RequestEnd::kBodiesTooBig:
      return "bodies_too_large";
  }
  return "";
}

int StatusOf(RequestEnd end) {
  constexpr int kCallerLeft = 499;  // nginx's number, which logs and tools know
  return end == RequestEnd::kCutOff ? 500 : end == RequestEnd::kDrained ? 503 : kCallerLeft;
}

absl::StatusOr<std::unique_ptr<Server>> Server::Open(ServerOptions options, const Clock& clock) {
  auto acceptor = transport::ConnectionAcceptor::Listen(options.listen, options.connections, clock);
  if (!acceptor.ok()) {
    return acceptor.status();
  }
  return std::make_unique<ServerImpl>(std::move(options), *std::move(acceptor), clock);
}

}  // namespace ruvd::http
