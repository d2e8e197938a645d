// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/exit_code.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/reasons.h"
#include "base/status.h"
#include "node/terminal/terminal.h"

namespace ruvd::cli {
namespace {

constexpr std::array<std::string_view, 4> kUsageReasons = {
    reasons::kUnknownFlag, reasons::kUsage, reasons::kUnknownConfigKey, reasons::kConfigInvalid};
constexpr std::array<std::string_view, 3> kNotReadyReasons = {
    reasons::kNodeUnreachable, reasons::kNodeDraining, reasons::kMailboxFull};
constexpr std::array<std::string_view, 4> kDeniedReasons = {
    reasons::kConsentMissing, reasons::kCertificateExpired, reasons::kCertificateForeign,
    reasons::kKeyFileMode};

template <size_t N>
bool Contains(const std::array<std::string_view, N>& list, std::string_view reason) {
  for (const std::string_view item : list) {
    if (item == reason) {
      return true;
    }
  }
  return false;
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) {
    return ExitCode::kOk;
  }
  const std::string reason = ReasonOf(status);
  if (Contains(kUsageReasons, reason)) {
    return ExitCode::kUsage;
  }
  if (Contains(kNotReadyReasons, reason) || status.code() == absl::StatusCode::kUnavailable) {
    return ExitCode::kNotReady;
  }
  if (Contains(kDeniedReasons, reason) || status.code() == absl::StatusCode::kPermissionDenied ||
      status.code() == absl::StatusCode::kUnauthenticated) {
    return ExitCode::kDenied;
  }
  return ExitCode::kError;
}

std::string ErrorLine(const absl::Status& status) {
  std::string text = MessageOf(status);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      c = ' ';
    }
  }
  text = Printable(text);  // replaces C1 control characters and invalid UTF-8
  const std::string reason = ReasonOf(status);
  return reason.empty() ? fmt::format("ruvd: {}", text)
                        : fmt::format("ruvd: {} [{}]", text, reason);
}

}  // namespace ruvd::cli
