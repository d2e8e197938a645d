// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "node/api/call_meter.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

class Callers;

// The rule for one method: callers with one of `roles` (bits of privacy/identity/admission.h), or
// all callers, may call it.
struct RpcRule {
  std::string_view method;  // "/package.Service/Method", as in HTTP/2
  uint32_t roles = 0;
  bool anybody = false;
};

// Returns one rule for every method that a node serves, ordered by method. A test compares the
// rules with the protos.
std::span<const RpcRule> RpcRules();
// Returns the rule of a method; null if it has none.
const RpcRule* RuleOf(std::string_view method);
// Returns whether the method has a rule and is on the port for clients.
bool IsClientMethod(std::string_view method);

// Returns whether a caller with `roles` may call the method. A method without a rule is always
// refused.
bool MayCall(std::string_view method, uint32_t roles);

// Returns whether calls of the method count against the limits of a key: those that use the model
// or the patterns, or teach. A method without a rule does not.
bool IsMetered(std::string_view method);

// Makes the processor that checks every call before it reaches a service. A call without
// "authorization: Bearer" and a known key is UNAUTHENTICATED; a call that the key's roles do not
// allow is PERMISSION_DENIED. gRPC carries no details of these errors, so client/rpc_error.cc adds
// their reasons. `on_refused` hears of both; it may be null. Use it only with TLS credentials.
std::shared_ptr<grpc::AuthMetadataProcessor> MakeKeyProcessor(
    std::shared_ptr<const Callers> callers, HearCall on_refused = nullptr);

}  // namespace ruvd::api
