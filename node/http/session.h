// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "base/clock.h"
#include "node/http/body_memory.h"
#include "node/http/server.h"
#include "node/transport/connection_acceptor.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace ruvd::http {

// One connection: it reads requests, has them answered, and writes the answers. All methods are
// called on the I/O thread.
class Session {
 public:
  virtual ~Session() = default;
  // Begins to read.
  virtual void Start() = 0;
  // Looks again whether the server drains: if so, the connection ends behind its present answer.
  virtual void Drain() = 0;
  // Ends the connection now.
  virtual void Close() = 0;
};

// What the connections of a server share. What is neither const nor atomic belongs to the I/O
// thread.
struct SessionState {
  SessionState(ServerOptions wanted, const Clock& the_clock)
      : options(std::move(wanted)),
        clock(the_clock),
        bodies(options.most_bodies_bytes, options.most_bodies_of_source_bytes) {}

  void Count(RequestEnd end) { ended[static_cast<size_t>(end)].fetch_add(1); }

  const ServerOptions options;
  const Clock& clock;
  BodyMemory bodies;
  std::unique_ptr<transport::ConnectionAcceptor> acceptor;
  std::set<std::shared_ptr<Session>> sessions;  // a session that ends leaves it
  std::function<void()> on_last_end = [] {};
  bool draining = false;
  std::atomic<uint64_t> requests{0};
  std::array<std::atomic<uint64_t>, kRequestEnds> ended{};
};

// Makes the session of a connected socket, which it takes over. `tls` is null for a plain
// connection. `shared` and `io` are borrowed, and outlive the session.
std::shared_ptr<Session> MakeSession(SessionState& shared, boost::asio::io_context& io, int socket,
                                     ssl_ctx_st* tls);

}  // namespace ruvd::http
