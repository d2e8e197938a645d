// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <initializer_list>
#include <memory>
#include <string>

#include "base/reasons.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "node/client/client.h"

namespace ruvd::client {

// A server of these services in this process, and a client of it.
class TestServer {
 public:
  TestServer(std::initializer_list<grpc::Service*> services) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    for (grpc::Service* service : services) {
      builder.RegisterService(service);
    }
    server_ = builder.BuildAndStart();
    client_ = std::make_unique<NodeClient>("127.0.0.1:" + std::to_string(port_));
  }
  ~TestServer() { server_->Shutdown(); }

  NodeClient& client() { return *client_; }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<NodeClient> client_;
};

// Returns an error as a node sends it.
inline grpc::Status ErrorWithReason(grpc::StatusCode code, const char* reason) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  google::rpc::Status rich;
  rich.add_details()->PackFrom(info);
  return {code, "an error", rich.SerializeAsString()};
}

}  // namespace ruvd::client
