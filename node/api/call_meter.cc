// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/call_meter.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "node/api/authorization.h"
#include "node/api/caller.h"
#include "node/api/rpc_status.h"

namespace ruvd::api {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;

class CallMeter final : public Interceptor {
 public:
  CallMeter(const HearCall& hear, const Clock& clock, ServerRpcInfo& call)
      : hear_(hear),
        clock_(clock),
        call_(call),
        endpoint_(EndpointOf(call.method())),
        began_(clock.Now()) {}
  void Intercept(InterceptorBatchMethods* methods) override {
    // A call that came by HTTP is counted where it came from.
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS) &&
        !IsInside(*call_.server_context())) {
      hear_(endpoint_, FromRpcStatus(methods->GetSendStatus()),
            std::chrono::duration<double>(clock_.Now() - began_).count());
    }
    methods->Proceed();
  }

 private:
  const HearCall& hear_;
  const Clock& clock_;
  ServerRpcInfo& call_;
  const std::string endpoint_;
  const TimePoint began_;
};

class CallMeterFactory final : public ServerInterceptorFactoryInterface {
 public:
  CallMeterFactory(HearCall hear, const Clock& clock) : hear_(std::move(hear)), clock_(clock) {}
  Interceptor* CreateServerInterceptor(ServerRpcInfo* call) override {
    return new CallMeter(hear_, clock_, *call);
  }

 private:
  const HearCall hear_;
  const Clock& clock_;
};

bool IsUpper(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

}  // namespace

std::string EndpointOf(std::string_view method) {
  if (!std::ranges::binary_search(RpcRules(), method, {}, &RpcRule::method)) {
    return "other";
  }
  std::string endpoint;
  for (const char letter : method.substr(method.rfind('/') + 1)) {
    if (IsUpper(letter) && !endpoint.empty()) {
      endpoint += '_';
    }
    endpoint += IsUpper(letter) ? static_cast<char>(letter - 'A' + 'a') : letter;
  }
  return endpoint;
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeCallMeter(
    HearCall hear, const Clock& clock) {
  return std::make_unique<CallMeterFactory>(std::move(hear), clock);
}

}  // namespace ruvd::api
