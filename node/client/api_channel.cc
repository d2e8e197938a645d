// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/client/api_channel.h"

#include <grpcpp/grpcpp.h>

#include "node/limits.h"

namespace ruvd::client {
namespace {

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(const ClientCredentials& own) {
  if (!own.tls) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = own.roots;
  const auto tls = grpc::SslCredentials(options);
  return own.token.empty()
             ? tls
             : grpc::CompositeChannelCredentials(tls, grpc::AccessTokenCredentials(own.token));
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeApiChannel(const std::string& server,
                                              const ClientCredentials& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(limits::kMaxResponseBytes);
  return grpc::CreateCustomChannel(server, ChannelCredentials(credentials), arguments);
}

}  // namespace ruvd::client
