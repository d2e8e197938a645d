// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>

// Limits of nodes that a verb starts.
namespace ruvd::limits {

// How often `ruvd serve` asks whether its node can go on; nothing waits for the answer.
inline constexpr std::chrono::seconds kFailureLook(1);

// Most nodes of `ruvd demo`; each has its own keys, store and caches.
inline constexpr int kMaxDemoNodes = 16;
// Longest start of a demo node, which maps a model and opens an empty store. This takes a few
// seconds on slow machines.
inline constexpr std::chrono::seconds kStartSeconds(60);
// The ready line of a child process is shorter; a longer line does not come from `ruvd serve`.
inline constexpr size_t kMaxReadyLineBytes = 4096;

}  // namespace ruvd::limits
