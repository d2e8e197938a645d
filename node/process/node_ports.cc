// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The node's port for HTTP and its unix socket, and how it watches its own ports.

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host_port.h"
#include "base/status.h"
#include "node/api/connection_limits.h"
#include "node/api/http/http_api.h"
#include "node/api/server.h"
#include "node/http/server.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/log/log_limit.h"
#include "node/process/node_impl.h"
#include "node/process/port_watchdog.h"
#include "node/socket_file.h"
#include "node/transport/listeners.h"
#include "node/transport/port_dial.h"
#include "node/transport/tls_server_context.h"

namespace ruvd::node {

absl::Status NodeImpl::OpenSocket() {
  if (config_.api.socket.empty()) {
    return absl::OkStatus();
  }
  const std::string path = std::filesystem::path(config_.node.data_dir) / config_.api.socket;
  auto opened = api::OpenServer(
      {.listen = std::string(transport::kUnixScheme) + path,
       .max_message_bytes = limits::kMaxApiMessageBytes,
       .services = socket_services_,
       .credentials = nullptr,  // the kernel says who calls
       .connections = limits::SocketConnectionsWithin(descriptors_),
       .call_proves = nullptr,
       .on_call = HearCalls(),
       .on_foreign_user = [this](uid_t user) {
         if (const auto left_out = foreign_lines_.Admit("foreign_user")) {
           LogWarning(
               "a process of user {} was refused at the unix socket, which is for the user "
               "{} and for root{}",
               user, ::geteuid(), LeftOut(*left_out));
         }
       }});
  // Nothing asked for this path, and many a file system has no sockets.
  if (absl::IsUnavailable(opened.status()) && config_.api.socket == kSocketFile) {
    LogWarning("this node serves without its unix socket: {}", MessageOf(opened.status()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(socket_, std::move(opened));
  return absl::OkStatus();
}

absl::Status NodeImpl::OpenHttp(const api::ServiceDependencies& dependencies) {
  const auto& listen = config_.api.http_listen;
  if (listen.empty()) {
    return absl::OkStatus();
  }
  const std::optional<HostPort> address = ParseHostPort(listen);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(limits::kMaxResponseBytes);  // as other clients have it
  connect_ =
      std::make_unique<api::ConnectCalls>(api_port_.server->InProcessChannel(arguments), io_pool_);
  http_api_ = std::make_unique<api::HttpApi>(
      api::HttpApiOptions{.connect = connect_.get(),
                          .node = dependencies,
                          .callers = callers_,
                          .is_loopback = address && IsLoopback(address->host),
                          .requests = &io_pool_,
                          .health = [this] { return HttpHealth(); }});
  http::ServerOptions options{
      .listen = listen,
      .connections =
          limits::HttpConnectionsWithin(descriptors_, /*tls=*/!config_.api.tls_cert.empty()),
      .admit = [this](const http::RequestHead& head) { return http_api_->Admit(head); },
      .refuse = api::HttpApi::Refuse,
      .on_answered =
          [this](std::string_view name, int status, double seconds) {
            metrics_->RequestEnded(name, std::to_string(status), seconds);
          }};
  if (!config_.api.tls_cert.empty()) {
    ASSIGN_OR_RETURN(options.tls, transport::TlsServerContext::Load(config_.api.tls_cert,
                                                                    config_.api.tls_key, clock_));
  }
  auto opened = http::Server::Open(std::move(options), clock_);
  // Nothing asked for this address, and another node of this machine may have it.
  if (absl::IsUnavailable(opened.status()) && listen == config::kHttpListen) {
    LogWarning("this node serves no HTTP, unless api.http_listen names a free address: {}",
               MessageOf(opened.status()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(http_, std::move(opened));
  return absl::OkStatus();
}

api::HttpHealth NodeImpl::HttpHealth() const {
  api::HttpHealth health{.is_draining = stopping_.load()};
  for (PartHealth& part : Parts()) {
    health.parts.push_back({.name = std::move(part.name), .problem = std::move(part.problem)});
  }
  return health;
}

// A dial waits for the connection that the server is taking over, so that one has to end before the
// port counts as silent: otherwise a client could have the node restarted.
static_assert(2 * limits::kClientConnections.hand_over <= limits::kPortPatience &&
              2 * limits::kHttpConnections.hand_over <= limits::kPortPatience &&
              2 * limits::kSocketConnections.hand_over <= limits::kPortPatience &&
              2 * limits::kPeerConnections.hand_over <= limits::kPortPatience);

void NodeImpl::MakeWatchdog() {
  std::vector<WatchedPort> ports;
  const auto watch = [&](std::string name, transport::ConnectionAcceptor& acceptor, bool tls,
                         transport::PortProtocol plain = transport::PortProtocol::kHttp2) {
    const auto protocol = tls ? transport::PortProtocol::kTls : plain;
    ports.push_back({.name = std::move(name), .dial = [this, &acceptor, protocol] {
                       return transport::DialOwnPort(acceptor, protocol,
                                                     tuning_.port_watch.patience,
                                                     [this] { return stopping_.load(); });
                     }});
  };
  const bool api_tls = !config_.api.tls_cert.empty();
  watch("api", *api_port_.acceptor, api_tls);
  if (http_ != nullptr) {
    watch("http", http_->acceptor(), api_tls, transport::PortProtocol::kHttp1);
  }
  if (socket_.acceptor != nullptr) {
    watch(kSocketPort, *socket_.acceptor, /*tls=*/false);
  }
  if (federates_) {
    watch("federation", *federation_port_.acceptor, /*tls=*/!LinksArePlain());
  }
  watchdog_ = std::make_unique<PortWatchdog>(std::move(ports), tuning_.port_watch.failures, clock_);
}

void NodeImpl::LookAtPorts() {
  if (stopping_.load()) {
    return;
  }
  watchdog_->Look();
  for (const std::string& note : watchdog_->TakeNotes()) {
    LogWarning("{}", note);
  }
  if (tuning_.port_watch.on_look) {
    tuning_.port_watch.on_look();
  }
  ScheduleLookAtPorts();
}

void NodeImpl::ScheduleLookAtPorts() {
  watch_pool_.PostAt(clock_.Now() + tuning_.port_watch.interval, [this] { LookAtPorts(); });
}

}  // namespace ruvd::node
