// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "node/client/client_credentials.h"
#include "node/transport/grpc_types.h"

namespace ruvd::client {

// Makes a channel to a node's client API at HOST:PORT: plain, or TLS with a key on every call; or
// at unix:PATH, where `credentials` must have no TLS and PATH is a path as it is. It connects on
// the first call. Proxies of the environment are not used, because the node is in the local
// network.
std::shared_ptr<grpc::Channel> MakeApiChannel(const std::string& server,
                                              const ClientCredentials& credentials);

}  // namespace ruvd::client
