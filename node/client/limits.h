// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>

// Limits of clients.
namespace ruvd::limits {

// Tries of a call for patterns while the node is busy: half a minute with the 200 ms that nodes of
// this version name. A node may name another delay, up to kMaxRetryDelay.
inline constexpr int kBusyTries = 150;
inline constexpr std::chrono::milliseconds kMaxRetryDelay(5000);

}  // namespace ruvd::limits
