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

// Sends spdlog's default logger to stderr in the configured format, every line with the node's
// name. Call once, before threads start; spdlog::info and its like are thread-safe afterwards.
// What is logged never holds text of prompts, completions or corrections: ids and numbers only.
void SetUpLogging(const config::NodeConfig::LogSection& config, std::string_view node_name);

// One JSON object a line: time (UTC, ISO 8601), level, node, message.
std::unique_ptr<spdlog::formatter> MakeJsonLogFormatter(std::string node_name);

}  // namespace ruvd
