// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "base/status.h"
#include "node/log/log.h"

namespace ruvd::actors {

// Logs an error that no caller can act on: what could not be done, why, and the reason. Does
// nothing for OK.
inline void LogFailure(std::string_view what, const absl::Status& status) {
  if (!status.ok()) {
    LogError("{}: {} [{}]", what, MessageOf(status), ReasonOf(status));
  }
}

}  // namespace ruvd::actors
