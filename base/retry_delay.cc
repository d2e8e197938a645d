// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/retry_delay.h"

#include <string>

#include "absl/strings/cord.h"

namespace ruvd {
namespace {

constexpr char kRetryUrl[] = "ruvd.retry_ms";

}  // namespace

absl::Status WithRetryDelay(absl::Status status, std::chrono::milliseconds delay) {
  if (!status.ok()) {
    const std::string millis = std::to_string(delay.count());
    status.SetPayload(kRetryUrl, absl::Cord(absl::string_view(millis)));
  }
  return status;
}

std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status) {
  const auto millis = status.GetPayload(kRetryUrl);
  return millis ? std::optional(std::chrono::milliseconds(std::stoll(std::string(*millis))))
                : std::nullopt;
}

}  // namespace ruvd
