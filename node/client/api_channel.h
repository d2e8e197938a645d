// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "node/client/client_credentials.h"

namespace ruvd::client {

// To a node's client API: plain, or TLS with a token on every call. Connects on the first call.
// Environment proxies are not used: the node is ours and near.
std::shared_ptr<grpc::Channel> MakeApiChannel(const std::string& server,
                                              const ClientCredentials& credentials);

}  // namespace ruvd::client
