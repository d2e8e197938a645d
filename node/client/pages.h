// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "node/client/client.h"

// Walks through lists, which a node sends page by page.
namespace ruvd::client {

// Calls `visit(page)` with each Response from the page token of `request` on, until `visit` returns
// an error.
template <typename Response, typename Request, typename Visit>
absl::Status ForEachPage(NodeClient& client, Request request, const Visit& visit) {
  do {
    ASSIGN_OR_RETURN(Response page, client.Call<Response>(request));
    request.set_page_token(page.next_page_token());
    RETURN_IF_ERROR(visit(page));
  } while (!request.page_token().empty());
  return absl::OkStatus();
}

// Returns all pages from the page token of `request` on as one response without a next page.
template <typename Response, typename Request>
absl::StatusOr<Response> AllPages(NodeClient& client, const Request& request) {
  Response all;
  RETURN_IF_ERROR(ForEachPage<Response>(client, request, [&all](const Response& page) {
    all.MergeFrom(page);
    return absl::OkStatus();
  }));
  all.clear_next_page_token();
  return all;
}

// Returns at most `limit` items from the page token of `request` on as one response, with the token
// of the items after them. `limit` must not be 0; `size` counts the items of a response.
template <typename Response, typename Request>
absl::StatusOr<Response> FirstItems(NodeClient& client, Request request, uint32_t limit,
                                    int (Response::*size)() const) {
  constexpr uint32_t kMostOfAPage = 100;  // every list allows as many
  Response all;
  do {
    const auto missing = limit - static_cast<uint32_t>((all.*size)());
    request.set_page_size(std::min(missing, kMostOfAPage));
    ASSIGN_OR_RETURN(const Response page, client.Call<Response>(request));
    all.MergeFrom(page);
    all.set_next_page_token(page.next_page_token());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && static_cast<uint32_t>((all.*size)()) < limit);
  return all;
}

}  // namespace ruvd::client
