// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "node/sharing/federation.h"
#include "node/transport/link_tls.h"

namespace ruvd::api {

// Serves incoming links, over the credentials of `tls` or, where that is null, over plain
// connections. Both are borrowed and must outlive the server.
std::unique_ptr<grpc::Service> MakeFederationService(sharing::FederationActor& federation,
                                                     const transport::LinkTls* tls);

// Dials outgoing links. Thread-safe.
class LinkDialer {
 public:
  LinkDialer();
  ~LinkDialer();  // Shutdown()
  LinkDialer(const LinkDialer&) = delete;
  LinkDialer& operator=(const LinkDialer&) = delete;

  // Who hears of the links, and their TLS (null: plain); what was dialled before starts now. Both
  // are borrowed until Shutdown returns.
  void Bind(sharing::FederationActor& federation, const transport::LinkTls* tls);
  // Starts a link to host:port; success shows as OpenLink, failure as OnDialFailed.
  void Dial(const std::string& address);
  // Cancels all links and waits until gRPC is done with them.
  void Shutdown();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the links, which may end last
};

}  // namespace ruvd::api
