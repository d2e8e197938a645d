// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "node/api/services.h"
#include "node/serving/inference.h"
#include "node/transport/grpc_types.h"

namespace ruvd::limits {

// How long a call may compute, whatever its caller allows: longer than the longest completion or
// score that a node accepts takes on a slow machine.
inline constexpr Duration kMaxComputeTime = std::chrono::hours(1);

}  // namespace ruvd::limits

namespace ruvd::api {

// Returns who makes a call, so that callers can be treated alike: the holder of its token where the
// port asks for tokens; else all that call over the same transport from one address, because a
// caller could make up any number of tokens and connections. The name is for comparison only and
// holds no secret.
std::string CallerOf(const grpc::CallbackServerContext& context, bool has_tokens);

// Returns the name of the holder of what a header "authorization" says.
std::string HolderOf(std::string_view authorization);

// Returns whether a call's result is not wanted any more: its caller left, its deadline passed, or
// it took limits::kMaxComputeTime from now on. `clock` is borrowed, and the call must not be
// finished before the last question.
std::function<bool()> UnwantedOf(const grpc::CallbackServerContext& context, const Clock& clock);

// Returns the job of a call that embeds a text.
serving::EmbedJob EmbedJobOf(const std::string& text, const grpc::CallbackServerContext& context,
                             const ServiceDependencies& node);

}  // namespace ruvd::api
