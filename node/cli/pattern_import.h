// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/status.h"
#include "node/terminal/command.h"

namespace ruvd::cli {

// `ruvd pattern import`: reads the whole file at `path` and compares it with the node, then, unless
// `check_only`, stores its patterns. A refused pattern does not stop the import: all refusals are
// counted, the first ones are named, and the first is the returned error. A busy node is asked
// again after the delay that it names. Errors: EXPORT_INVALID, FILE_NOT_FOUND, FILE_UNREADABLE if
// the path is not a regular file, MODEL_MISMATCH.
absl::Status ImportPatterns(CommandContext& context, const std::string& path, bool check_only);

}  // namespace ruvd::cli
