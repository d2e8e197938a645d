// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

// A listening gRPC server and its address, in which port 0 is replaced by the chosen port.
struct RunningServer {
  std::unique_ptr<grpc::Server> server;
  std::string address;
};

// Serves `services` (borrowed) with health checking and reflection, over plain connections if
// `credentials` is null. CONFIG_INVALID if the address cannot be bound.
absl::StatusOr<RunningServer> StartServer(
    const std::string& listen, int max_message_bytes, const std::vector<grpc::Service*>& services,
    std::shared_ptr<grpc::ServerCredentials> credentials = nullptr);

}  // namespace ruvd::api
