// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/executor.h"
#include "node/api/http/connect_codec.h"
#include "node/http/exchange.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

// A call over HTTP of a method of the API.
struct ConnectRequest {
  const google::protobuf::MethodDescriptor* method = nullptr;
  ConnectType type;
  std::string message;                       // as the body or the query has it
  std::optional<std::string> authorization;  // "Bearer KEY"; goes on to the method
  std::string source;                        // where the call comes from
  std::optional<std::chrono::milliseconds> timeout;
  std::shared_ptr<http::Exchange> exchange;
};

// Serves the API over HTTP by the Connect protocol: a call goes through a channel inside the
// process to the service that serves it over gRPC, so both have the same checks. Who may call must
// have been decided before. Thread-safe.
class ConnectCalls {
 public:
  // `channel` leads to the node's server for clients; `executor` watches for callers that leave.
  // Both must outlive the calls.
  ConnectCalls(std::shared_ptr<grpc::Channel> channel, Executor& executor);
  ~ConnectCalls();
  ConnectCalls(const ConnectCalls&) = delete;
  ConnectCalls& operator=(const ConnectCalls&) = delete;

  // Starts the call, whose answer goes to its exchange.
  void Start(ConnectRequest request) const;
  // Answers with an error in the form that the type asks for.
  static http::Answer ErrorAnswer(const absl::Status& status, ConnectType type);

 private:
  struct Stub;
  const std::unique_ptr<Stub> stub_;
  Executor& executor_;
};

}  // namespace ruvd::api
