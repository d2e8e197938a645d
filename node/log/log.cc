// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/log/log.h"

#include <spdlog/spdlog.h>

namespace ruvd {
namespace {

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kCritical:
      return spdlog::level::critical;
  }
  return spdlog::level::critical;
}

}  // namespace

bool IsLogged(LogLevel level) {
  // The logger may be gone while threads of libraries still run.
  const auto* const logger = spdlog::default_logger_raw();
  return logger != nullptr && logger->should_log(LevelOf(level));
}

void WriteLog(LogLevel level, std::string_view message) {
  if (auto* const logger = spdlog::default_logger_raw(); logger != nullptr) {
    logger->log(LevelOf(level), spdlog::string_view_t(message.data(), message.size()));
  }
}

}  // namespace ruvd
