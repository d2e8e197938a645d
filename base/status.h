// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd {

// A reason is the stable, machine-readable name of an error's cause in UPPER_SNAKE, at most 63
// characters long. The API sends it as google.rpc.ErrorInfo.reason. base/reasons.h and the
// reasons.h of each room list them.
//
// Makes an error status with a reason and a formatted message. The message names the cause and the
// remedy: "model file x.gguf ends inside tensor y; download it again".
template <typename... Args>
absl::Status Error(absl::StatusCode code, std::string_view reason,
                   fmt::format_string<Args...> format, Args&&... args);

// Returns the reason attached by Error(), or "" if the status has none.
std::string ReasonOf(const absl::Status& status);

// Returns the message as a std::string. (Debian's absl::string_view is not std::string_view and
// does not convert to it.)
std::string MessageOf(const absl::Status& status);

// Returns the status with the same code and reason and with "prefix: " before its message. OK stays
// OK.
absl::Status Annotate(const absl::Status& status, std::string_view prefix);

// The non-template part of Error(). Bytes of the message that are not UTF-8 are replaced by U+FFFD.
absl::Status MakeError(absl::StatusCode code, std::string_view reason, std::string_view message);

template <typename... Args>
absl::Status Error(absl::StatusCode code, std::string_view reason,
                   fmt::format_string<Args...> format, Args&&... args) {
  return MakeError(code, reason, fmt::format(format, std::forward<Args>(args)...));
}

namespace internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace internal

}  // namespace ruvd

// Returns from the current function if `expr` is not OK.
#define RETURN_IF_ERROR(expr)                                     \
  do {                                                            \
    if (absl::Status ruvd_status_ = (expr); !ruvd_status_.ok()) { \
      return ruvd_status_;                                        \
    }                                                             \
  } while (false)

#define RUVD_CONCAT_INNER_(a, b) a##b
#define RUVD_CONCAT_(a, b) RUVD_CONCAT_INNER_(a, b)  // NOLINTBEGIN(bugprone-macro-parentheses)
#define RUVD_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, expr) \
  auto statusor = (expr);                                \
  if (!statusor.ok()) {                                  \
    return std::move(statusor).status();                 \
  }                                                      \
  lhs = std::move(statusor).value()  // NOLINTEND(bugprone-macro-parentheses): a declaration

// Evaluates an expression of type absl::StatusOr<T>; returns its error or assigns its value to
// `lhs`.
#define ASSIGN_OR_RETURN(lhs, expr) \
  RUVD_ASSIGN_OR_RETURN_IMPL_(RUVD_CONCAT_(ruvd_statusor_, __LINE__), lhs, expr)

// Aborts the process and prints the condition if it does not hold, also in release builds. Use it
// only for programming errors, never for input.
#define RUVD_CHECK(condition)                          \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::ruvd::internal::CheckFailed(__FILE__, __LINE__, #condition))
