// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/auth_metadata_processor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "node/transport/api_tokens.h"

namespace ruvd::api {

// Who may call a method: callers with one of `roles` (bits of privacy/identity/admission.h), or
// anybody.
struct RpcRule {
  std::string_view method;  // "/package.Service/Method", as HTTP/2 has it
  uint32_t roles = 0;
  bool anybody = false;
};

// One rule for every method that a node serves, ordered by method. A test compares them with the
// protos.
std::span<const RpcRule> RpcRules();

// Whether a caller with `roles` may call the method. Nobody may call one without a rule.
bool MayCall(std::string_view method, uint32_t roles);

// Looks at every call before it reaches a service: UNAUTHENTICATED without "authorization: Bearer"
// and one of the tokens, PERMISSION_DENIED where its roles do not suffice. gRPC carries no details
// of these errors; rpc_error.cc knows their reasons. For credentials with TLS only.
std::shared_ptr<grpc::AuthMetadataProcessor> MakeTokenProcessor(
    std::shared_ptr<const transport::ApiTokens> tokens);

}  // namespace ruvd::api
