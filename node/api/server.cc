// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <mutex>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "node/transport/callback_queue.h"

namespace ruvd::api {
namespace {

constexpr int kMaxStreams = 256;
// A caller that pings more often than this misbehaves.
constexpr int kMinPingIntervalMs = 10'000;
// A caller that vanished during a call is noticed after this much silence plus the same time
// without an answer to a ping. Without this a stream would be held for hours.
constexpr int kKeepaliveMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;

}  // namespace

absl::StatusOr<RunningServer> StartServer(const std::string& listen, int max_message_bytes,
                                          const std::vector<grpc::Service*>& services,
                                          std::shared_ptr<grpc::ServerCredentials> credentials) {
  static std::once_flag plugins;
  std::call_once(plugins, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos || colon + 1 == listen.size()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "'{}' is not a listen address; use host:port", listen);
  }
  transport::RetainCallbackQueue();
  grpc::ServerBuilder builder;
  int port = 0;
  if (credentials == nullptr) {
    credentials = grpc::InsecureServerCredentials();
  }
  builder.AddListeningPort(listen, std::move(credentials), &port);
  builder.SetMaxReceiveMessageSize(max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(limits::kTlsHandshake.count()));
  builder.SetResourceQuota(grpc::ResourceQuota("ruvd").Resize(limits::kMaxApiMemoryBytes));
  // With a shared port, two nodes would each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  for (grpc::Service* service : services) {
    builder.RegisterService(service);
  }
  RunningServer running;
  running.server = builder.BuildAndStart();
  if (running.server == nullptr || port == 0) {
    return Error(absl::StatusCode::kUnavailable, reasons::kConfigInvalid,
                 "cannot listen on {}; is another process using the port? Choose another address",
                 listen);
  }
  running.address = listen.substr(0, colon + 1) + std::to_string(port);
  return running;
}

}  // namespace ruvd::api
