// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"

// The pages of lists. A token names the last item of the page before it, so a page begins behind
// that item whatever was added or removed meanwhile.
namespace ruvd::api {

// Returns how many items to send: `fallback` if the caller asks for 0, and at most `most`.
inline size_t PageSize(uint32_t asked, size_t fallback, size_t most) {
  return std::min(asked == 0 ? fallback : size_t{asked}, most);
}

// Makes the token of the page behind the item with this key.
std::string PageToken(std::string_view key);
// Returns the key in a token. A text that PageToken did not make is INVALID_ARGUMENT.
absl::StatusOr<std::string> ReadPageToken(std::string_view token);
// Returns the number that a token has as its key; 0 without a token.
absl::StatusOr<uint64_t> ReadPagePosition(std::string_view token);
// Returns INVALID_ARGUMENT about a token whose item is gone or that is of another list.
absl::Status StalePageToken(std::string_view token);

// Sends one page of a list that is in memory. `items` are in the ascending order of `key_of(item)`,
// which is a text; `write(item)` adds an item to `response`.
template <typename Items, typename Request, typename Response, typename KeyOf, typename Write>
absl::Status WritePage(const Items& items, const Request& request, size_t most, KeyOf key_of,
                       Write write, Response* response) {
  constexpr size_t kDefaultSize = 100;
  const size_t size = PageSize(request.page_size(), kDefaultSize, most);
  auto item = items.begin();
  if (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(const std::string last, ReadPageToken(request.page_token()));
    item = std::upper_bound(items.begin(), items.end(), last,
                            [&](const std::string& key, const auto& other) {
                              return key < std::string(key_of(other));
                            });
  }
  for (size_t sent = 0; item != items.end(); ++item, ++sent) {
    if (sent == size) {
      response->set_next_page_token(PageToken(key_of(*std::prev(item))));
      return absl::OkStatus();
    }
    write(*item);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::api
