// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "node/config/config.h"

namespace spdlog {
class formatter;
}

namespace ruvd {

// Sends spdlog's default logger to stderr in the configured format, with the node's name on every
// line. Call it once, before threads start; logging is thread-safe afterwards. Log lines must never
// hold text of prompts, completions or corrections, only ids and numbers.
void SetUpLogging(const config::NodeConfig::LogSection& config, std::string_view node_name);

// Makes a formatter that writes one JSON object per line: time (UTC, ISO 8601), level, node,
// message.
std::unique_ptr<spdlog::formatter> MakeJsonLogFormatter(std::string node_name);

}  // namespace ruvd
