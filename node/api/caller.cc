// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/caller.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/bytes.h"
#include "node/transport/peer_address.h"
#include "privacy/sodium.h"

namespace ruvd::api {

std::string OwnId(const Caller& caller, std::string_view id) {
  return caller.owner.empty() || id.empty() ? std::string(id)
                                            : fmt::format("{}:{}", caller.owner, id);
}

const std::string& InsideSecret() {
  static const std::string& secret = *new std::string([] {
    std::array<uint8_t, 32> bytes{};
    privacy::SecureRandomBytes(bytes);
    return ToHex(bytes);
  }());
  return secret;
}

bool IsInside(const grpc::ServerContextBase& context) {
  const auto [begin, end] = context.client_metadata().equal_range(kInsideSecret);
  const std::string& secret = InsideSecret();
  return std::any_of(begin, end, [&](const auto& shown) {
    return shown.second.size() == secret.size() &&
           sodium_memcmp(shown.second.data(), secret.data(), secret.size()) == 0;
  });
}

std::string SourceOf(const grpc::CallbackServerContext& context) {
  if (IsInside(context)) {
    const auto source = context.client_metadata().find(kInsideSource);
    return source == context.client_metadata().end()
               ? std::string()
               : std::string(source->second.data(), source->second.size());
  }
  const std::optional<transport::PeerAddress> peer = transport::ParsePeer(context.peer());
  return peer ? "grpc:" + ToHex(transport::SourceOf(*peer)) : "unix";
}

std::function<bool()> UnwantedOf(const grpc::CallbackServerContext& context, const Clock& clock) {
  return [&context, &clock, end = clock.Now() + limits::kMaxComputeTime] {
    return context.IsCancelled() || clock.Now() >= end;
  };
}

}  // namespace ruvd::api
