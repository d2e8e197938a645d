// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::cli {

// A call of the command line in a process of its own.
struct VerbCall {
  std::string program;                 // path of `ruvd`
  std::vector<std::string> arguments;  // the verb and its flags
  std::string log_file;                // gets what the call says on standard error
};

// Calls the verb with --format json and without any variable of the environment. Returns the line
// that it printed. PROCESS_FAILED if the call prints nothing, does not exit with 0, or does not end
// within a minute; the message names its log.
absl::StatusOr<std::string> RunVerb(const VerbCall& call);

}  // namespace ruvd::cli
