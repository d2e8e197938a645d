// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>

// Time limits for stopping a node.
namespace ruvd::limits {

// Time for running requests after SIGTERM: long enough for a stream of a few hundred tokens, and
// much shorter than the 90 s after which service managers kill a process by default.
inline constexpr std::chrono::seconds kDrainSeconds(15);
// A child process that runs for longer than this after SIGTERM hangs and is killed.
inline constexpr std::chrono::seconds kStopSeconds = kDrainSeconds + std::chrono::seconds(5);

}  // namespace ruvd::limits
