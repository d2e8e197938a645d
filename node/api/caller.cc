// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/caller.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <optional>

#include "base/bytes.h"
#include "node/transport/peer_address.h"

namespace ruvd::api {

std::string OwnId(const Caller& caller, std::string_view id) {
  return caller.owner.empty() || id.empty() ? std::string(id)
                                            : fmt::format("{}:{}", caller.owner, id);
}

std::string SourceOf(const grpc::CallbackServerContext& context) {
  const std::optional<transport::PeerAddress> peer = transport::ParsePeer(context.peer());
  return peer ? "grpc:" + ToHex(transport::SourceOf(*peer)) : "unix";
}

std::function<bool()> UnwantedOf(const grpc::CallbackServerContext& context, const Clock& clock) {
  return [&context, &clock, end = clock.Now() + limits::kMaxComputeTime] {
    return context.IsCancelled() || clock.Now() >= end;
  };
}

}  // namespace ruvd::api
