// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/pages.h"

#include <charconv>
#include <limits>
#include <optional>
#include <system_error>

#include "base/bytes.h"
#include "base/sanitize_for_display.h"
#include "base/utf8.h"
#include "node/api/bad_request.h"

namespace ruvd::api {

std::string PageToken(std::string_view key) {
  return ToHex(AsBytes(key));
}

absl::StatusOr<std::string> ReadPageToken(std::string_view token) {
  const std::optional<std::string> key = FromHex(token);
  if (!key || key->empty()) {
    return StalePageToken(token);
  }
  return *key;
}

absl::StatusOr<uint64_t> ReadPagePosition(std::string_view token) {
  if (token.empty()) {
    return 0;
  }
  ASSIGN_OR_RETURN(const std::string key, ReadPageToken(token));
  uint64_t position = 0;
  const char* const end = key.data() + key.size();
  const auto [read, error] = std::from_chars(key.data(), end, position);
  if (error != std::errc() || read != end || position > std::numeric_limits<int64_t>::max() - 1) {
    return StalePageToken(token);
  }
  return position;
}

absl::Status StalePageToken(std::string_view token) {
  constexpr size_t kMostShown = 64;
  return BadField("page_token",
                  "page_token '{}' does not name a page of this list; begin again without a token",
                  SanitizeForDisplay(ValidUtf8(CutUtf8(token, kMostShown))));
}

}  // namespace ruvd::api
