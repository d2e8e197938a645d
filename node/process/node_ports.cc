// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// How the node watches its own ports.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "node/api/server.h"
#include "node/process/node_impl.h"
#include "node/process/port_watchdog.h"
#include "node/transport/port_dial.h"

namespace ruvd::node {

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
