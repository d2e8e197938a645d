// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

// Limits of the command line.
namespace ruvd::limits {

// Calls of an import that are open at the same time; fewer if their patterns are large. The node
// writes them to disk together. This is half of the uploads that a node takes at a time.
inline constexpr size_t kImportCalls = 16;
inline constexpr size_t kImportBytes = 16 << 20;
// Refused patterns of an import that are named one by one; all refusals are counted.
inline constexpr size_t kShownRefusals = 10;
// Largest prompt that is read from standard input, which is the largest prompt of a request.
inline constexpr size_t kMaxPromptBytes = 1 << 20;

}  // namespace ruvd::limits
