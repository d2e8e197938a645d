// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>

// Limits of clients.
namespace ruvd::limits {

// Calls for patterns that find the node busy come again when it says, so often: half a minute with
// the 200 ms of our nodes. Another node may name any time.
inline constexpr int kBusyTries = 150;
inline constexpr std::chrono::milliseconds kMaxRetryDelay(5000);

}  // namespace ruvd::limits
