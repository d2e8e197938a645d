// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/terminal/command.h"

namespace ruvd::cli {

// `ruvd run` remembers the id of its completion, so that `ruvd rate last` finds it: in
// $XDG_STATE_HOME/ruvd/last or ~/.local/state/ruvd/last, with mode 0600. The text is not kept.
absl::Status StoreLastResponse(const CommandContext& context, const std::string& id);
// Returns the remembered id. UNKNOWN_RESPONSE if `ruvd run` was never used.
absl::StatusOr<std::string> LoadLastResponse(const CommandContext& context);

}  // namespace ruvd::cli
