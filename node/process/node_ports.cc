// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The node's unix socket, and how it watches its own ports.

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "node/api/connection_limits.h"
#include "node/api/server.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/log/log_limit.h"
#include "node/process/node_impl.h"
#include "node/process/port_watchdog.h"
#include "node/socket_file.h"
#include "node/transport/listeners.h"
#include "node/transport/port_dial.h"

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

// A dial waits for the connection that the server is taking over, so that one has to end before the
// port counts as silent: otherwise a client could have the node restarted.
static_assert(2 * limits::kClientConnections.hand_over <= limits::kPortPatience &&
              2 * limits::kSocketConnections.hand_over <= limits::kPortPatience &&
              2 * limits::kPeerConnections.hand_over <= limits::kPortPatience);

void NodeImpl::MakeWatchdog() {
  std::vector<WatchedPort> ports;
  const auto watch = [&](std::string name, const api::RunningServer& port, bool tls) {
    const auto protocol = tls ? transport::PortProtocol::kTls : transport::PortProtocol::kHttp2;
    ports.push_back({.name = std::move(name), .dial = [this, &port, protocol] {
                       return transport::DialOwnPort(*port.acceptor, protocol,
                                                     tuning_.port_watch.patience,
                                                     [this] { return stopping_.load(); });
                     }});
  };
  watch("api", api_port_, /*tls=*/!config_.api.tls_cert.empty());
  if (socket_.acceptor != nullptr) {
    watch("socket", socket_, /*tls=*/false);
  }
  if (federates_) {
    watch("federation", federation_port_, /*tls=*/!LinksArePlain());
  }
  watchdog_ = std::make_unique<PortWatchdog>(std::move(ports), tuning_.port_watch.failures, clock_);
}

void NodeImpl::LookAtPorts() {
  if (stopping_.load()) {
    return;
  }
  watchdog_->Look();
  ScheduleLookAtPorts();
}

void NodeImpl::ScheduleLookAtPorts() {
  watch_pool_.PostAt(clock_.Now() + tuning_.port_watch.interval, [this] { LookAtPorts(); });
}

}  // namespace ruvd::node
