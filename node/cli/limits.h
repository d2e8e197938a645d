// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>

// Limits of the command line.
namespace ruvd::limits {

// After SIGTERM: long enough for a stream of a few hundred tokens, short enough for service
// managers, which kill after 90 s by default, and for impatient people.
inline constexpr std::chrono::seconds kDrainSeconds(15);
// Calls of an import that the node answers at the same time, fewer where their patterns are large;
// they share its waits for the disk. Half of what may wait at a node.
inline constexpr size_t kImportCalls = 32;
inline constexpr size_t kImportBytes = 16 << 20;
// Calls for patterns that find the node busy come again when it says, so often: half a minute with
// the 200 ms of our nodes. Another node may name any time.
inline constexpr int kBusyTries = 150;
inline constexpr std::chrono::milliseconds kMaxRetryDelay(5000);
// Patterns of an import that the node refused and that are named; all are counted.
inline constexpr size_t kShownRefusals = 10;
// A prompt read from standard input: what a request may hold.
inline constexpr size_t kMaxPromptBytes = 1 << 20;
// Nodes of `ruvd demo`: each holds its own copy of keys, store and caches.
inline constexpr int kMaxDemoNodes = 16;
// A node of the demo maps a model and opens an empty store; slow machines take a few seconds.
inline constexpr std::chrono::seconds kStartSeconds(60);
// The ready line of a child is shorter; a longer one is not ours.
inline constexpr size_t kMaxReadyLineBytes = 4096;
// Beyond the drain deadline a child hangs and is killed.
inline constexpr std::chrono::seconds kStopSeconds = kDrainSeconds + std::chrono::seconds(5);

}  // namespace ruvd::limits
