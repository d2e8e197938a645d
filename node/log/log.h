// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace ruvd {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kCritical };

// Whether a line of this level is written.
bool IsLogged(LogLevel level);
// Writes one line to the process's log (log_setup.h). Lines hold ids and numbers, never text of
// prompts, completions or corrections. Thread-safe.
void WriteLog(LogLevel level, std::string_view message);

// Formats and writes one line. Here and not through the logger's own templates, which every source
// that logs would compile anew.
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
