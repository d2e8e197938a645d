// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/caller.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <span>

#include "base/bytes.h"
#include "node/transport/peer_address.h"

namespace ruvd::api {
namespace {

// A part of the hash is enough to tell tokens apart.
constexpr size_t kNameBytes = 8;

}  // namespace

std::string CallerOf(const grpc::CallbackServerContext& context, bool has_tokens) {
  const auto& metadata = context.client_metadata();
  const auto header = metadata.find("authorization");
  if (has_tokens && header != metadata.end()) {
    return HolderOf({header->second.data(), header->second.size()});
  }
  const std::optional<transport::PeerAddress> peer = transport::ParsePeer(context.peer());
  return peer ? "grpc:" + ToHex(transport::SourceOf(*peer)) : "unix";
}

std::string HolderOf(std::string_view authorization) {
  const Digest hash = Sha256(authorization);
  return "token:" + ToHex(std::span(hash).first<kNameBytes>());
}

std::function<bool()> UnwantedOf(const grpc::CallbackServerContext& context, const Clock& clock) {
  return [&context, &clock, end = clock.Now() + limits::kMaxComputeTime] {
    return context.IsCancelled() || clock.Now() >= end;
  };
}

serving::EmbedJob EmbedJobOf(const std::string& text, const grpc::CallbackServerContext& context,
                             const ServiceDependencies& node) {
  return {.text = text,
          .caller = CallerOf(context, node.has_tokens),
          .unwanted = UnwantedOf(context, *node.clock)};
}

}  // namespace ruvd::api
