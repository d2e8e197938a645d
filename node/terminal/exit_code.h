// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/status.h"

namespace ruvd::cli {

// What `ruvd` tells the shell.
enum class ExitCode : int {
  kOk = 0,
  kError = 1,
  kUsage = 2,     // the command line or the configuration is wrong
  kNotReady = 3,  // no node answers, or it is starting, draining or busy; try again later
  kDenied = 4,    // consent, certificate or key forbids it
};

ExitCode ExitCodeOf(const absl::Status& status);

// One line for stderr: "ruvd: cause; remedy [REASON]". Control characters of the message, which may
// come from another machine, are replaced.
std::string ErrorLine(const absl::Status& status);

}  // namespace ruvd::cli
