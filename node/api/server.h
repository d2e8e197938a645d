// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/api/call_meter.h"
#include "node/api/connection_limits.h"
#include "node/transport/connection_acceptor.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

// What a port serves, and to whom.
struct ServerOptions {
  std::string listen;  // host:port, or unix:PATH
  int max_message_bytes = 4 << 20;
  std::vector<grpc::Service*> services;                  // borrowed
  std::shared_ptr<grpc::ServerCredentials> credentials;  // null: plain connections
  transport::ConnectionLimits connections = limits::kClientConnections;
  int max_streams = limits::kMaxClientStreams;  // of a connection, at a time
  int idle_ms = limits::kClientIdleMs;          // a connection without a call ends after this
  // Serves health checking and reflection, too.
  bool for_clients = true;
  // Whether a call of this method proves that its connection may use the port. Null: none does.
  // gRPC shows a call only once its first message has come whole.
  std::function<bool(std::string_view method)> call_proves = [](std::string_view) { return true; };
  HearCall on_call = nullptr;  // hears of the calls; may be null
  // Hears what ConnectionAcceptor::OnForeignUser hears.
  transport::ConnectionAcceptor::HearForeign on_foreign_user = [](uid_t) {};
  // Hears which acceptor is the port's, before that accepts the first connection. May be null.
  std::function<void(transport::ConnectionAcceptor& acceptor)> on_listening;
};

// A listening gRPC server. It shuts down when it is destroyed or replaced.
struct RunningServer {
  RunningServer() = default;
  RunningServer(RunningServer&&) = default;
  RunningServer& operator=(RunningServer&& other) noexcept;
  ~RunningServer();

  // Accepts connections from now on; until then they wait. Call it once for a server of OpenServer.
  void Accept();

  // Accepts nothing more, sends the last writes until `deadline`, then cancels open calls and waits
  // until gRPC is done with every call. Does nothing for a server that was never started.
  // Idempotent.
  void Shutdown(std::chrono::system_clock::time_point deadline);

  std::unique_ptr<transport::ConnectionAcceptor> acceptor;
  std::unique_ptr<grpc::Server> server;
  std::string address;                       // in which port 0 is replaced by the chosen port
  transport::ConnectionAcceptor::Take take;  // gives gRPC a connection
};

// Listens, and accepts nothing yet. Returns the errors of ConnectionAcceptor::Listen, or INTERNAL
// if gRPC does not start. `clock` is borrowed.
absl::StatusOr<RunningServer> OpenServer(ServerOptions options, const Clock& clock = SystemClock());
// Does the same, and accepts connections.
absl::StatusOr<RunningServer> StartServer(ServerOptions options,
                                          const Clock& clock = SystemClock());

}  // namespace ruvd::api
