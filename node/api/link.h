// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "node/admission/link_tls.h"
#include "node/api/link_counts.h"
#include "node/sharing/federation.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

// Hears whether the other end of a connection, named as gRPC does, is a member of the cluster: once
// it has proved that, and once its link has ended.
using OnMember = std::function<void(std::string_view peer, bool linked)>;

// Makes the service for incoming links, of which a connection may have one at a time: over the
// credentials of `tls`, or over plain connections if `tls` is null. All three are borrowed and must
// outlive the server.
std::unique_ptr<grpc::Service> MakeFederationService(sharing::LinkHandler& federation,
                                                     const admission::LinkTls* tls,
                                                     OnMember on_member, LinkCounts& counts);

// Dials outgoing links. Thread-safe.
class LinkDialer {
 public:
  LinkDialer();
  ~LinkDialer();  // Shutdown()
  LinkDialer(const LinkDialer&) = delete;
  LinkDialer& operator=(const LinkDialer&) = delete;

  // Sets who handles the links, and their TLS (null: plain connections). Links dialled
  // before start now. All three are borrowed until Shutdown returns.
  void Bind(sharing::LinkHandler& federation, const admission::LinkTls* tls, LinkCounts& counts);
  // Starts a link to host:port. The handler gets OpenLink on success and OnDialFailed on failure.
  void Dial(const std::string& address);
  // Cancels all links and waits until gRPC is done with them.
  void Shutdown();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the links, which may end later
};

}  // namespace ruvd::api
