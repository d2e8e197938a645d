// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/error_details.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "absl/strings/cord.h"
#include "base/utf8.h"

namespace ruvd {
namespace {

constexpr char kFieldUrl[] = "ruvd.field";
constexpr char kLimitUrl[] = "ruvd.limit";

absl::Status WithPayload(absl::Status status, const char* url, std::string_view text) {
  if (!status.ok()) {
    status.SetPayload(url, absl::Cord(absl::string_view(text.data(), text.size())));
  }
  return status;
}

}  // namespace

absl::Status WithField(absl::Status status, std::string_view path) {
  return path.empty() ? status
                      : WithPayload(std::move(status), kFieldUrl,
                                    CutUtf8(path, limits::kMaxErrorFieldBytes));
}

absl::Status InField(absl::Status status, std::string_view parent) {
  const std::string field = FieldOf(status);
  return field.empty() ? status : WithField(std::move(status), fmt::format("{}.{}", parent, field));
}

std::string FieldOf(const absl::Status& status) {
  const auto path = status.GetPayload(kFieldUrl);
  return path ? std::string(*path) : "";
}

absl::Status WithLimit(absl::Status status, ExceededLimit limit) {
  return WithPayload(std::move(status), kLimitUrl, fmt::format("{} {}", limit.limit, limit.value));
}

std::optional<ExceededLimit> LimitOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kLimitUrl);
  if (!payload) {
    return std::nullopt;
  }
  const std::string text(*payload);
  const char* const end = text.data() + text.size();
  ExceededLimit limit;
  const auto first = std::from_chars(text.data(), end, limit.limit);
  std::from_chars(first.ptr + 1, end, limit.value);
  return limit;
}

}  // namespace ruvd
