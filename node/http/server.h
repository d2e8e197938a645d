// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/http/exchange.h"
#include "node/http/limits.h"
#include "node/http/request_head.h"
#include "node/transport/connection_acceptor.h"
#include "node/transport/tls_server_context.h"

namespace ruvd::http {

// A request whose head may be followed by its body.
struct Admitted {
  std::string_view name;  // of the route, for metrics; outlives the server
  size_t most_body_bytes = limits::kMaxHttpBodyBytes;
  // Whether the request proves that its connection may use the port.
  bool proves = true;
  // Called on the I/O thread with the whole body. It must not block or compute: it hands the work
  // over, to answer later.
  std::function<void(std::string body, std::shared_ptr<Exchange> exchange)> handle;
};
// A request that gets this answer at once.
struct Refused {
  std::string_view name;  // of the route, for metrics; outlives the server
  Answer answer;
};
using Verdict = std::variant<Admitted, Refused>;

// What a port waits for; tests have other values.
struct ServerTimes {
  std::chrono::milliseconds handshake = limits::kHttpHandshakeTime;
  std::chrono::milliseconds head = limits::kHttpHeadTime;
  std::chrono::milliseconds body = limits::kHttpBodyTime;
  std::chrono::milliseconds idle = limits::kHttpIdleTime;
  std::chrono::milliseconds write = limits::kHttpWriteTime;
  std::chrono::milliseconds linger = limits::kHttpLingerTime;
  std::chrono::milliseconds ping = limits::kHttpPingTime;
};

struct ServerOptions {
  std::string listen;  // host:port; port 0 picks a free port
  transport::ConnectionLimits connections;
  std::unique_ptr<transport::TlsServerContext> tls;  // null: plain connections
  // Decides about a request by its head. Called on the I/O thread; it must not block or compute.
  std::function<Verdict(const RequestHead& head)> admit;
  // Makes the answer to what never reaches `admit`: bytes that are no request, a body that is too
  // large or too slow, a node with too much to do. `name` is that of the route; empty: it is not
  // known.
  using Refuse = std::function<Answer(std::string_view name, int status, std::string_view message)>;
  Refuse refuse;
  // Hears of every answer, on the I/O thread: the route, the status (499: the caller left first,
  // 500 and 503: the node ended it) and the time from the head to the last byte. May be null.
  std::function<void(std::string_view name, int status, double seconds)> on_answered;
  ServerTimes times = {};
  size_t most_bodies_bytes = limits::kMaxHttpBodiesBytes;
  size_t most_bodies_of_source_bytes = limits::kMaxHttpBodiesOfSourceBytes;
};

// Why a connection ended before its request had its answer, or was refused.
enum class RequestEnd : uint8_t {
  kMalformed,     // its bytes were no request
  kTooLate,       // handshake, head or body took too long
  kTlsFailed,     // the handshake failed
  kCallerLeft,    // in the middle of an answer
  kSentAhead,     // the caller sent too much during an answer
  kCutOff,        // the handler dropped a stream before its end
  kDrained,       // the server ended before the answer
  kCallerSlow,    // it did not read its answer
  kBodiesTooBig,  // the bodies of all requests, or of one source, together were too large
};
inline constexpr size_t kRequestEnds = 9;
// Returns a stable lower-case name.
std::string_view RequestEndName(RequestEnd end);
// Returns the status by which metrics count an answer that ended so.
int StatusOf(RequestEnd end);

// An HTTP/1.1 server, over TLS or plain: keep-alive, chunks, streams of events. The connections
// pass a ConnectionAcceptor, as those of gRPC do. One thread of its own does all I/O and never
// computes; each connection has a strand. Thread-safe.
class Server {
 public:
  struct Counts {
    uint64_t requests = 0;  // whose head was read
    std::array<uint64_t, kRequestEnds> ended{};
  };

  // Listens, and accepts nothing yet. Returns the errors of ConnectionAcceptor::Listen. `clock` is
  // borrowed.
  static absl::StatusOr<std::unique_ptr<Server>> Open(ServerOptions options, const Clock& clock);
  virtual ~Server() = default;  // Shutdown without grace

  // Accepts connections from now on. Call it once.
  virtual void Accept() = 0;
  // Accepts nothing more and ends idle connections; lets answers that are under way end within
  // `grace`, then ends all. Blocks until no handler is called any more. Idempotent.
  virtual void Shutdown(Duration grace) = 0;

  // Returns the address with the real port.
  virtual const std::string& address() const = 0;
  virtual transport::ConnectionAcceptor& acceptor() = 0;
  virtual const transport::ConnectionAcceptor& acceptor() const = 0;
  virtual Counts counts() const = 0;
};

}  // namespace ruvd::http
