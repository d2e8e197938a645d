// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace ruvd {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kCritical };

// Returns whether lines of this level are written.
bool IsLogged(LogLevel level);
// Writes one line to the process's log (log_setup.h). A line may hold ids and numbers, but never
// text of prompts, completions or corrections. Thread-safe.
void WriteLog(LogLevel level, std::string_view message);

// Formats and writes one line. The formatting is here because every source that logs would
// otherwise compile the logger's own templates.
template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (IsLogged(level)) {
    WriteLog(level, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kWarning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kError, format, std::forward<Args>(args)...);
}

}  // namespace ruvd
