// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "node/terminal/command.h"

namespace ruvd::cli {

// The model of a demo: `flag`, else RUVD_MODEL__PATH, else the one that came with the program (in
// deploy/models above it in a source tree, share/ruvd/models beside it when installed).
// FILE_NOT_FOUND names every place that was looked at.
absl::StatusOr<std::string> FindModel(const CommandContext& context, const std::string& flag);

}  // namespace ruvd::cli
