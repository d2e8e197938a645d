// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/status.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/cord.h"
#include "base/utf8.h"

namespace ruvd {
namespace {
constexpr char kReasonUrl[] = "type.ruvdllm.dev/reason";
}  // namespace

absl::Status MakeError(absl::StatusCode code, std::string_view reason, std::string_view message) {
  // The message will travel in a protobuf string, which must be UTF-8, and its parts may come from
  // anywhere.
  absl::Status status(code, ValidUtf8(message));
  if (!reason.empty()) {
    status.SetPayload(kReasonUrl, absl::Cord(absl::string_view(reason.data(), reason.size())));
  }
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  auto payload = status.GetPayload(kReasonUrl);
  return payload.has_value() ? std::string(*payload) : std::string();
}

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message().data(), status.message().size());
}

absl::Status Annotate(const absl::Status& status, std::string_view prefix) {
  if (status.ok()) {
    return status;
  }
  return MakeError(status.code(), ReasonOf(status),
                   fmt::format("{}: {}", prefix, MessageOf(status)));
}

namespace internal {
void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}
}  // namespace internal

}  // namespace ruvd
