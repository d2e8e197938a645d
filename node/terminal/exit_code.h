// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/status.h"

namespace ruvd::cli {

// The exit codes of `ruvd`.
enum class ExitCode : int {
  kOk = 0,
  kError = 1,
  kUsage = 2,     // the command line or the configuration is wrong
  kNotReady = 3,  // no node answers, or the node is starting, draining or busy; try again later
  kDenied = 4,    // a consent, certificate or key forbids the call
};

ExitCode ExitCodeOf(const absl::Status& status);

// Returns one line for stderr: "ruvd: cause; remedy [REASON]". Control characters of the message
// are replaced, because the message may come from another machine.
std::string ErrorLine(const absl::Status& status);

}  // namespace ruvd::cli
