// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/clock.h"

namespace grpc::experimental {
class ServerInterceptorFactoryInterface;
}  // namespace grpc::experimental

namespace ruvd::api {

// Hears of every call that a service answered, refusals included: its endpoint, the status that its
// caller gets and the seconds that it took. Called on gRPC's threads; it must not block.
using HearCall =
    std::function<void(std::string_view endpoint, const absl::Status& status, double seconds)>;

// Returns the name of a method's endpoint in metrics: the method without its service, in lower case
// with underscores ("generate", "get_status"); "other" for a method that has no rule in RpcRules,
// so that there are few names whatever callers ask for.
std::string EndpointOf(std::string_view method);

// Makes what tells `hear` of the calls of a server. A call whose token is refused does not reach
// it: MakeTokenProcessor hears of that one. `clock` is borrowed and must outlive the server.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> MakeCallMeter(
    HearCall hear, const Clock& clock);

}  // namespace ruvd::api
