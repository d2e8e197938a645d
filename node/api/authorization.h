// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "node/api/call_meter.h"
#include "node/transport/api_tokens.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

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

// Returns whether a caller with `roles` may call the method. A method without a rule is always
// refused.
bool MayCall(std::string_view method, uint32_t roles);

// Decides whether a caller that shows `authorization` ("Bearer TOKEN"; nullopt: nothing) may call
// the method. Calls over gRPC and HTTP are decided by this alone. CALLER_UNKNOWN without a known
// token, in equal time for all unknown ones; ROLE_MISSING if the token's roles do not allow the
// method.
absl::Status Authorize(const transport::ApiTokens& tokens, std::string_view method,
                       std::optional<std::string_view> authorization);

// Makes the processor that checks every call before it reaches a service. A call without
// "authorization: Bearer" and a known token is UNAUTHENTICATED; a call that the token's roles do
// not allow is PERMISSION_DENIED. gRPC carries no details of these errors, so client/rpc_error.cc
// adds their reasons. `on_refused` hears of both; it may be null. Use it
// only with TLS credentials.
std::shared_ptr<grpc::AuthMetadataProcessor> MakeTokenProcessor(
    std::shared_ptr<const transport::ApiTokens> tokens, HearCall on_refused = nullptr);

}  // namespace ruvd::api
