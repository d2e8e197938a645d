// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "node/transport/grpc_types.h"

namespace ruvd::limits {

// How long a call may compute, whatever its caller allows: longer than the longest completion or
// score that a node accepts takes on a slow machine.
inline constexpr Duration kMaxComputeTime = std::chrono::hours(1);

}  // namespace ruvd::limits

namespace ruvd::api {

// Who makes a call, and what is theirs.
struct Caller {
  // As in serving::GenerationJob: the holder of a key where the port asks for keys; else all that
  // call over the same transport from one address, because a caller could make up any number of
  // keys and connections. It holds no secret.
  std::string name;
  // The name of the key whose users, sessions and responses are the caller's. Empty: everything is,
  // because the key is an admin's or the port asks for none.
  std::string owner = {};
};

// Returns the id under which the node knows a user or a session that a caller names: "OWNER:ID", so
// that the same id of another key is another user. Callers without an owner name the whole id.
// Empty stays empty.
std::string OwnId(const Caller& caller, std::string_view id);

// A call from inside the process, which serves a caller of another transport, shows a secret of the
// process in this metadata, and says in the other one where its caller is.
inline constexpr char kInsideSecret[] = "ruvd-inside";
inline constexpr char kInsideSource[] = "ruvd-source";
// Returns that secret: random, new in each process, and never told to a caller.
const std::string& InsideSecret();
// Returns whether a call is from inside the process. gRPC names the address of such a call
// "unknown", which says nothing.
bool IsInside(const grpc::ServerContextBase& context);

// Returns where a call comes from, as the name of a caller without a key.
std::string SourceOf(const grpc::CallbackServerContext& context);

// Returns whether a call's result is not wanted any more: its caller left, its deadline passed, or
// it took limits::kMaxComputeTime from now on. `clock` is borrowed, and the call must not be
// finished before the last question.
std::function<bool()> UnwantedOf(const grpc::CallbackServerContext& context, const Clock& clock);

}  // namespace ruvd::api
