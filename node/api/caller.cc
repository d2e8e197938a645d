// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/caller.h"

#include <grpcpp/grpcpp.h>

#include <span>

#include "base/bytes.h"

namespace ruvd::api {
namespace {

// A part of the hash is enough to tell tokens apart.
constexpr size_t kNameBytes = 8;

}  // namespace

std::string CallerOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto header = metadata.find("authorization");
  return header == metadata.end()
             ? context.peer()
             : CallerOf({header->second.data(), header->second.size()}, context.peer());
}

std::string CallerOf(std::string_view authorization, std::string_view connection) {
  if (authorization.empty()) {
    return std::string(connection);
  }
  const Digest hash = Sha256(authorization);
  return "token:" + ToHex(std::span(hash).first<kNameBytes>());
}

std::function<bool()> UnwantedOf(const grpc::CallbackServerContext& context, const Clock& clock) {
  return [&context, &clock, end = clock.Now() + limits::kMaxComputeTime] {
    return context.IsCancelled() || clock.Now() >= end;
  };
}

serving::EmbedJob EmbedJobOf(const std::string& text, const grpc::CallbackServerContext& context,
                             const Clock& clock) {
  return {.text = text, .caller = CallerOf(context), .unwanted = UnwantedOf(context, clock)};
}

}  // namespace ruvd::api
