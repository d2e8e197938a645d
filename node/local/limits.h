// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>

// Limits of nodes that a verb starts.
namespace ruvd::limits {

// Nodes of `ruvd demo`: each holds its own copy of keys, store and caches.
inline constexpr int kMaxDemoNodes = 16;
// A node of the demo maps a model and opens an empty store; slow machines take a few seconds.
inline constexpr std::chrono::seconds kStartSeconds(60);
// The ready line of a child is shorter; a longer one is not ours.
inline constexpr size_t kMaxReadyLineBytes = 4096;

}  // namespace ruvd::limits
