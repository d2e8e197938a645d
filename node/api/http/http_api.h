// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/api/callers.h"
#include "node/api/http/connect_calls.h"
#include "node/api/http/http_call.h"
#include "node/api/services.h"
#include "node/http/request_head.h"
#include "node/http/server.h"

namespace ruvd::api {

struct HttpApiOptions {
  // Serves the methods of gRPC over HTTP, too; null: they are not served.
  const ConnectCalls* connect = nullptr;
  ServiceDependencies node;
  std::shared_ptr<const Callers> callers;
  // Whether only programs of this machine can reach the port. Without keys, a request whose Host is
  // a name of elsewhere is then refused: it comes from a web page that such a name led here.
  bool is_loopback = true;
  Executor* requests = nullptr;        // reads bodies and calls actors
  std::function<HttpHealth()> health;  // called on `requests`
};

// One row of the table of routes.
struct HttpRoute {
  std::string_view method;
  std::string_view path;  // one that ends in '/' takes a name behind it, such as "/v1/models/"
  std::string_view rpc;   // the method whose rule holds (api/authorization.h)
  size_t most_body_bytes = 0;
  void (*serve)(const HttpCall& call) = nullptr;  // null: a probe, which HttpApi answers itself
};
// Returns the table, ordered by path.
std::span<const HttpRoute> HttpRoutes();

// The HTTP API of a node: which requests there are, who may make them, and what answers them. It is
// a second skin of the services of gRPC: the same rules, checks and actors. Thread-safe.
class HttpApi {
 public:
  explicit HttpApi(HttpApiOptions options) : options_(std::move(options)) {}

  // Decides about a request by its head, without blocking.
  http::Verdict Admit(const http::RequestHead& head) const;
  // Makes the answer to what is no request.
  static http::Answer Refuse(std::string_view name, int status, std::string_view message);

 private:
  // Admits a call of the route as Callers::Admit does, without limits where it is not metered.
  absl::StatusOr<std::shared_ptr<const AdmittedCall>> AdmitCall(
      const HttpRoute& route, const http::RequestHead& head) const;
  // Decides about a call of a method of gRPC by the Connect protocol.
  http::Verdict AdmitConnect(const google::protobuf::MethodDescriptor& method,
                             const http::RequestHead& head) const;
  absl::Status CheckConnect(const google::protobuf::MethodDescriptor& method,
                            const http::RequestHead& head) const;
  absl::Status CheckHost(const http::RequestHead& head) const;
  absl::Status Check(const HttpRoute& route, const http::RequestHead& head) const;
  http::Verdict Probe(const HttpRoute& route, const http::RequestHead& head) const;

  const HttpApiOptions options_;
};

}  // namespace ruvd::api
