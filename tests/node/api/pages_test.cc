// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/pages.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error_details.h"
#include "base/reasons.h"
#include "ruvd/cluster/v1/cluster.pb.h"

namespace ruvd::api {
namespace {

using cluster::v1::ListMembersRequest;
using cluster::v1::ListMembersResponse;

std::vector<std::string> NamesOf(const ListMembersResponse& response) {
  std::vector<std::string> names;
  for (const cluster::v1::Member& member : response.members()) {
    names.push_back(member.name());
  }
  return names;
}

absl::StatusOr<ListMembersResponse> PageOf(const std::vector<std::string>& items, uint32_t size,
                                           const std::string& token, size_t most = 100) {
  ListMembersRequest request;
  request.set_page_size(size);
  request.set_page_token(token);
  ListMembersResponse response;
  RETURN_IF_ERROR(WritePage(
      items, request, most, [](const std::string& item) { return item; },
      [&](const std::string& item) { response.add_members()->set_name(item); }, &response));
  return response;
}

TEST(PagesTest, EveryItemIsOnOnePage) {
  const std::vector<std::string> items = {"a", "b", "c", "d", "e"};
  std::vector<std::string> seen;
  std::string token;
  size_t pages = 0;
  do {
    const auto page = PageOf(items, 2, token);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const std::string& name : NamesOf(*page)) {
      seen.push_back(name);
    }
    token = page->next_page_token();
    ++pages;
  } while (!token.empty());
  EXPECT_EQ(seen, items);
  EXPECT_EQ(pages, 3u);
}

TEST(PagesTest, AFullLastPageHasNoToken) {
  EXPECT_EQ(PageOf({"a", "b"}, 2, "")->next_page_token(), "");
  EXPECT_EQ(PageOf({}, 2, "")->next_page_token(), "");
}

TEST(PagesTest, APageBeginsBehindAnItemThatIsGone) {
  const std::string token = PageOf({"a", "b", "c", "d"}, 2, "")->next_page_token();
  EXPECT_EQ(NamesOf(*PageOf({"a", "aa", "c", "d"}, 2, token)),
            (std::vector<std::string>{"c", "d"}));
}

TEST(PagesTest, SizesHaveADefaultAndAMost) {
  const std::vector<std::string> items(300, "x");
  EXPECT_EQ(PageOf(items, 0, "", 1000)->members_size(), 100);
  EXPECT_EQ(PageOf(items, 1'000'000, "", 150)->members_size(), 150);
}

TEST(PagesTest, ATokenOfAnotherMakingIsRefusedByName) {
  for (const std::string token : {"zz", "abc", "next"}) {
    const absl::Status status = PageOf({"a"}, 1, token).status();
    EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument) << token;
    EXPECT_EQ(FieldOf(status), "page_token") << token;
  }
}

TEST(PagesTest, APositionIsANumber) {
  EXPECT_EQ(ReadPagePosition("").value(), 0u);
  EXPECT_EQ(ReadPagePosition(PageToken("1234")).value(), 1234u);
  for (const char* const key : {"x", "-1", "12x", "9223372036854775807", "1e3"}) {
    EXPECT_FALSE(ReadPagePosition(PageToken(key)).ok()) << key;
  }
}

}  // namespace
}  // namespace ruvd::api
