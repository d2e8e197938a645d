// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/client/pages.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "tests/node/client/test_server.h"

namespace ruvd::client {
namespace {

using pattern::v1::ListPatternsRequest;
using pattern::v1::ListPatternsResponse;
using ::testing::ElementsAre;

// Lists patterns, whose ids count from 0, in pages of at most 100.
class ManyPatterns final : public pattern::v1::PatternService::Service {
 public:
  explicit ManyPatterns(size_t count) : count_(count) {}
  grpc::Status ListPatterns(grpc::ServerContext*, const ListPatternsRequest* request,
                            ListPatternsResponse* response) override {
    sizes.push_back(request->page_size());
    const size_t begin = request->page_token().empty() ? 0 : std::stoul(request->page_token());
    const size_t size = request->page_size() == 0 ? 100 : request->page_size();
    const size_t end = std::min(begin + size, count_);
    for (size_t i = begin; i < end; ++i) {
      response->add_patterns()->set_id(std::to_string(i));
    }
    if (end < count_) {
      response->set_next_page_token(std::to_string(end));
    }
    return grpc::Status::OK;
  }

  std::vector<uint32_t> sizes;  // of the pages that were asked for

 private:
  const size_t count_;
};

TEST(PagesTest, EveryPageIsVisitedFromTheTokenOn) {
  ManyPatterns service(250);
  TestServer server({&service});
  std::vector<int> sizes;
  const auto visit = [&sizes](const ListPatternsResponse& page) {
    sizes.push_back(page.patterns_size());
    return absl::OkStatus();
  };
  ListPatternsRequest request;
  ASSERT_TRUE(ForEachPage<ListPatternsResponse>(server.client(), request, visit).ok());
  EXPECT_THAT(sizes, ElementsAre(100, 100, 50));
  sizes.clear();
  request.set_page_token("240");
  ASSERT_TRUE(ForEachPage<ListPatternsResponse>(server.client(), request, visit).ok());
  EXPECT_THAT(sizes, ElementsAre(10));
}

TEST(PagesTest, AVisitorEndsTheWalkWithAnError) {
  ManyPatterns service(250);
  TestServer server({&service});
  const absl::Status status = ForEachPage<ListPatternsResponse>(
      server.client(), ListPatternsRequest(),
      [](const ListPatternsResponse&) { return absl::AbortedError("enough"); });
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_EQ(service.sizes.size(), 1U);
}

TEST(PagesTest, AllPagesAreOneResponse) {
  ManyPatterns service(250);
  TestServer server({&service});
  const auto all = AllPages<ListPatternsResponse>(server.client(), ListPatternsRequest());
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->patterns_size(), 250);
  EXPECT_EQ(all->patterns(249).id(), "249");
  EXPECT_EQ(all->next_page_token(), "");
  const auto patterns = AllPatterns(server.client());
  ASSERT_TRUE(patterns.ok()) << patterns.status();
  ASSERT_EQ(patterns->size(), 250U);
  EXPECT_EQ(patterns->back().id(), "249");
}

TEST(PagesTest, TheFirstItemsEndWithTheTokenOfTheNextOne) {
  ManyPatterns service(250);
  TestServer server({&service});
  const auto first = [&](uint32_t limit, const std::string& token) {
    service.sizes.clear();
    ListPatternsRequest request;
    request.set_page_token(token);
    return FirstItems<ListPatternsResponse>(server.client(), request, limit,
                                            &ListPatternsResponse::patterns_size)
        .value();
  };
  ListPatternsResponse some = first(120, "");
  EXPECT_EQ(some.patterns_size(), 120);
  EXPECT_EQ(some.next_page_token(), "120");
  EXPECT_THAT(service.sizes, ElementsAre(100U, 20U));
  some = first(1000, "200");
  EXPECT_EQ(some.patterns_size(), 50);
  EXPECT_EQ(some.next_page_token(), "");
  some = first(250, "");
  EXPECT_EQ(some.patterns_size(), 250);
  EXPECT_EQ(some.next_page_token(), "");
}

}  // namespace
}  // namespace ruvd::client
