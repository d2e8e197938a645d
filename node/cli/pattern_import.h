// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/status.h"
#include "node/terminal/command.h"

namespace ruvd::cli {

// `ruvd pattern import`: reads the whole file at `path` and compares it with the node, then, unless
// `check_only`, stores its patterns. One that the node refuses does not keep those behind it: all
// refusals are counted, the first of them named, and the first is the error. A busy node is asked
// again when it says. EXPORT_INVALID,
// FILE_NOT_FOUND, FILE_UNREADABLE for what is no regular file, MODEL_MISMATCH.
absl::Status ImportPatterns(CommandContext& context, const std::string& path, bool check_only);

}  // namespace ruvd::cli
