// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

// Limits of the command line.
namespace ruvd::limits {

// Calls of an import that the node answers at the same time, fewer where their patterns are large;
// they share its waits for the disk. Half of what may wait at a node.
inline constexpr size_t kImportCalls = 32;
inline constexpr size_t kImportBytes = 16 << 20;
// Patterns of an import that the node refused and that are named; all are counted.
inline constexpr size_t kShownRefusals = 10;
// A prompt read from standard input: what a request may hold.
inline constexpr size_t kMaxPromptBytes = 1 << 20;

}  // namespace ruvd::limits
