// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/support/server_interceptor.h>

#include <utility>

#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "node/transport/callback_queue.h"

namespace ruvd::api {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;

// A caller that pings more often than this misbehaves.
constexpr int kMinPingIntervalMs = 10'000;
// A caller that vanished during a call is noticed after this much silence plus the same time
// without an answer to a ping. Without this a stream would be held for hours.
constexpr int kKeepaliveMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;

// A program that links gRPC's reflection has it in every server; this leaves it out of one.
class NoReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    plugins->clear();
  }
};

// Whether there is a health service is a setting of the process.
std::unique_ptr<grpc::Server> Build(grpc::ServerBuilder& builder, bool health) {
  static Mutex mutex;
  const MutexLock lock(mutex);
  grpc::EnableDefaultHealthCheckService(health);
  return builder.BuildAndStart();
}

// Tells the acceptor of connections with a call that proves them. The call has passed the check of
// its token by then.
class CallProver final : public Interceptor {
 public:
  CallProver(transport::ConnectionAcceptor& acceptor, ServerRpcInfo& call)
      : acceptor_(acceptor), call_(call) {}
  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      acceptor_.Prove(call_.server_context()->peer());
    }
    methods->Proceed();
  }

 private:
  transport::ConnectionAcceptor& acceptor_;
  ServerRpcInfo& call_;
};

class CallProverFactory final : public ServerInterceptorFactoryInterface {
 public:
  CallProverFactory(transport::ConnectionAcceptor& acceptor,
                    std::function<bool(std::string_view)> proves)
      : acceptor_(acceptor), proves_(std::move(proves)) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo* call) override {
    return proves_(call->method()) ? new CallProver(acceptor_, *call) : nullptr;
  }

 private:
  transport::ConnectionAcceptor& acceptor_;
  const std::function<bool(std::string_view)> proves_;
};

void SetArguments(const ServerOptions& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(options.max_message_bytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.idle_ms);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kMinPingIntervalMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              static_cast<int>(limits::kTlsHandshake.count()));
  builder->SetResourceQuota(grpc::ResourceQuota("ruvd")
                                .Resize(limits::kMaxApiMemoryBytes)
                                .SetMaxThreads(limits::kMaxBlockingThreads));
  for (grpc::Service* service : options.services) {
    builder->RegisterService(service);
  }
}

}  // namespace

RunningServer& RunningServer::operator=(RunningServer&& other) noexcept {
  if (this != &other) {
    Shutdown({});
    server = std::move(other.server);  // first: its calls use the acceptor
    acceptor = std::move(other.acceptor);
    address = std::move(other.address);
    take = std::move(other.take);
  }
  return *this;
}

RunningServer::~RunningServer() {
  Shutdown({});
}

void RunningServer::Accept() {
  acceptor->Start(std::move(take));
}

void RunningServer::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (acceptor != nullptr) {
    acceptor->Stop();
  }
  if (server != nullptr) {
    server->Shutdown(deadline);
  }
}

absl::StatusOr<RunningServer> OpenServer(ServerOptions options, const Clock& clock) {
  RunningServer running;
  ASSIGN_OR_RETURN(running.acceptor, transport::ConnectionAcceptor::Listen(
                                         options.listen, options.connections, clock));
  running.address = running.acceptor->address();
  transport::RetainCallbackQueue();
  grpc::ServerBuilder builder;
  SetArguments(options, &builder);
  if (options.for_clients) {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();  // makes the linker keep it
  } else {
    builder.SetOption(std::make_unique<NoReflection>());
  }
  std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> interceptors;
  if (options.call_proves) {
    interceptors.push_back(
        std::make_unique<CallProverFactory>(*running.acceptor, std::move(options.call_proves)));
  }
  if (options.on_call) {
    interceptors.push_back(MakeCallMeter(std::move(options.on_call), clock));
  }
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  // A std::function is copied, so the handle is shared.
  const std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> incoming =
      builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
          options.credentials != nullptr ? options.credentials : grpc::InsecureServerCredentials());
  running.server = Build(builder, options.for_clients);
  if (running.server == nullptr) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal,
                 "gRPC did not start a server for {}; see the log", options.listen);
  }
  if (options.on_listening) {
    options.on_listening(*running.acceptor);
  }
  running.acceptor->OnForeignUser(std::move(options.on_foreign_user));
  running.take = [incoming](int listener, int socket) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = listener;
    connection.fd = socket;
    incoming->HandleNewConnection(&connection);
  };
  return running;
}

absl::StatusOr<RunningServer> StartServer(ServerOptions options, const Clock& clock) {
  ASSIGN_OR_RETURN(RunningServer running, OpenServer(std::move(options), clock));
  running.Accept();
  return running;
}

}  // namespace ruvd::api
