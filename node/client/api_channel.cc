// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/client/api_channel.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <string>

#include "absl/strings/ascii.h"
#include "node/client/local_server.h"
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
  return own.key.empty()
             ? tls
             : grpc::CompositeChannelCredentials(tls, grpc::AccessTokenCredentials(own.key));
}

// Returns the name by which gRPC finds the server. It reads the path of a unix socket as that of a
// URI, where '#' and '?' end a path and '%' begins a code (RFC 3986, section 2.1).
std::string TargetOf(const std::string& server) {
  if (!server.starts_with(kUnixServer)) {
    return server;
  }
  std::string target = kUnixServer;
  for (const char c : server.substr(target.size())) {
    if (c == '/' || c == '-' || c == '.' || c == '_' || c == '~' || absl::ascii_isalnum(c)) {
      target += c;
    } else {
      target += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return target;
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeApiChannel(const std::string& server,
                                              const ClientCredentials& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(limits::kMaxResponseBytes);
  return grpc::CreateCustomChannel(TargetOf(server), ChannelCredentials(credentials), arguments);
}

}  // namespace ruvd::client
