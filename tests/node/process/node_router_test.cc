// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests a node whose router chooses how requests are served.

#include <gmock/gmock.h>

#include "node/process/node_files.h"
#include "storage/state/state_names.h"
#include "storage/state/state_rows.h"
#include "tests/node/node_fixture.h"

namespace ruvd::node {
namespace {

class NodeRouterTest : public NodeTest {
 protected:
  Completion Complete(std::optional<uint32_t> steps = std::nullopt) {
    auto request = Request("The old man walked", 8);
    request.mutable_sampling()->set_ignore_end_of_text(true);
    if (steps) {
      request.mutable_sampling()->set_steps(*steps);
    }
    Completion completion = Generate(request);
    EXPECT_TRUE(completion.status.ok()) << completion.status;
    return completion;
  }
  learning::v1::RouterStatus Router() {
    grpc::ClientContext context;
    learning::v1::GetLearningStatusResponse response;
    EXPECT_TRUE(learning::v1::LearningService::NewStub(channel_)
                    ->GetLearningStatus(&context, {}, &response)
                    .ok());
    return response.status().router();
  }
};

TEST_F(NodeRouterTest, IsOffUnlessConfigured) {
  Start();
  EXPECT_FALSE(Complete().finished.has_route());
  EXPECT_EQ(Router().kind(), "");
}

TEST_F(NodeRouterTest, SaysHowItServedAndRemembersTheOutcomeOverARestart) {
  config_.experimental.router = "logistic";
  tuning_.router_exploration = 1;
  tuning_.round_after = std::chrono::hours(1);
  Start();
  const Completion completion = Complete();
  ASSERT_TRUE(completion.finished.has_route());
  EXPECT_THAT(
      completion.finished.route().kind(),
      ::testing::AnyOf(inference::v1::ROUTE_KIND_AS_ASKED, inference::v1::ROUTE_KIND_HALF_STEPS,
                       inference::v1::ROUTE_KIND_APPROXIMATE_CACHE));
  EXPECT_TRUE(completion.finished.route().explored());
  EXPECT_FALSE(Complete(4).finished.has_route()) << "what it asked for is not open";
  learning::v1::SubmitFeedbackRequest request;
  request.set_response_id(completion.finished.response_id());
  request.set_rating(0.1F);
  learning::v1::SubmitFeedbackResponse response;
  ASSERT_TRUE(Rate(request, &response).ok());
  EXPECT_EQ(Router().kind(), "logistic");
  EXPECT_EQ(Router().waiting(), 1u);
  Restart();
  EXPECT_EQ(Router().waiting(), 1u);
  EXPECT_EQ(Router().version(), 0u);
}

TEST_F(NodeRouterTest, WithoutExplorationNothingChangesBeforeItLearned) {
  Start();
  const std::string text = Complete().text;
  node_.reset();
  config_.experimental.router = "cascade";
  tuning_.router_exploration = 0;
  Start();
  const Completion completion = Complete();
  EXPECT_EQ(completion.finished.route().kind(), inference::v1::ROUTE_KIND_AS_ASKED);
  EXPECT_EQ(completion.text, text);
}

TEST_F(NodeRouterTest, ADamagedVersionSwitchesItOff) {
  config_.experimental.router = "logistic";
  tuning_.router_exploration = 1;
  Start();
  EXPECT_TRUE(Complete().finished.has_route());
  node_.reset();
  {
    const auto files = OpenNodeFiles(config_, SystemClock());
    ASSERT_TRUE(files.ok()) << files.status();
    const auto database = OpenNodeStore(config_, *files->seal_source, SystemClock());
    ASSERT_TRUE(database.ok()) << database.status();
    storage::Batch batch;
    batch.Put(storage::ColumnFamily::kState,
              storage::state_rows::HeadKey(storage::state::StoredRouter(1).text), "no router");
    ASSERT_TRUE((*database)->Write(std::move(batch), storage::Durability::kProcessCrash).ok());
  }
  Start();
  EXPECT_FALSE(Complete().finished.has_route());
  EXPECT_EQ(Router().kind(), "");
}

}  // namespace
}  // namespace ruvd::node
