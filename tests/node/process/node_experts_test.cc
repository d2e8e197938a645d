// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests the exchange of experts over real links: what one node learned serves the visitors of
// another, as long as those who taught it agree, and a liar's expert never does.

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "federation/patterns/shared_expert.h"
#include "inference/adapter/talora_file.h"
#include "node/client/client.h"
#include "node/serving/experts.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "tests/inference/random_adapter.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

using testing::HasSubstr;

class NodeExpertsTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.federation.tls = "off";
    config_.federation.round_seconds = 3600;  // no round gets in the way
  }
  // Sentences that differ from each other and between topics.
  static std::string TextAbout(const std::string& topic) {
    std::string text = "# About " + topic + "\n\n";
    for (int i = 0; i < 60; ++i) {
      text += fmt::format(
          "The {} of house {} is checked on day {} and its keeper writes the result into the "
          "book. ",
          topic, i, i * 7 % 31);
    }
    return text;
  }
  static std::string Question(int house) {
    return fmt::format(
        "The pump of house {} is checked on day {} and its keeper writes the result into", house,
        house % 29);
  }
  // The first node learns a deep adapter of texts that may leave.
  void LearnOnTheFirstNode(const std::string& user = "") {
    for (const std::string topic : {"boiler", "pump", "valve", "fan"}) {
      AddTextOf(node_->api_address(), topic + ".md", TextAbout(topic),
                pattern::v1::SHARING_TIER_PUBLIC, user);
    }
    const auto result = client::NodeClient(node_->api_address())
                            .Call<learning::v1::RunDeepResponse>(learning::v1::RunDeepRequest());
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->outcome(), "published");
  }
  // Users of a node ask such questions, and give no feedback.
  static void Visit(const Node& node, int questions) {
    for (int house = 100; house < 100 + questions; ++house) {
      inference::v1::GenerateResponse last;
      const auto stub = inference::v1::InferenceService::NewStub(
          grpc::CreateChannel(node.api_address(), grpc::InsecureChannelCredentials()));
      grpc::ClientContext context;
      const auto reader = stub->Generate(&context, Request(Question(house), 4));
      while (reader->Read(&last)) {
      }
      ASSERT_TRUE(reader->Finish().ok());
    }
  }
  static admin::v1::ExpertStatus ExpertOf(const Node& seen_by, const Digest& member) {
    const auto response =
        client::NodeClient(seen_by.api_address())
            .Call<admin::v1::ListMembersResponse>(admin::v1::ListMembersRequest());
    EXPECT_TRUE(response.ok()) << response.status();
    for (const admin::v1::Member& one : response->members()) {
      if (one.node_id() == ToHex(member)) {
        return one.expert();
      }
    }
    return {};
  }
  // Returns the loss of what the owner's texts say, as a node serves it.
  static double LossAt(const Node& node) {
    inference::v1::ScoreRequest request;
    request.set_prompt(Question(77));
    request.set_completion(" the book.");
    request.set_with_adapters(true);
    const auto response =
        client::NodeClient(node.api_address()).Call<inference::v1::ScoreResponse>(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response->nats_per_token();
  }
  static Digest IdOf(const Node& node) { return *DigestFrom(FromHex(node.id()).value()); }
};

TEST_F(NodeExpertsTest, AnExpertServesAVisitorAndLeavesWithTheConsent) {
  Start();
  ASSERT_NO_FATAL_FAILURE(LearnOnTheFirstNode());
  const auto other = StartMember("other", [](config::NodeConfig& config) {
    config.learning.enabled = false;  // what serves is the peer's
  });
  ASSERT_NE(other, nullptr);
  ASSERT_NO_FATAL_FAILURE(Visit(*other, 6));
  const Digest first = IdOf(*node_);
  EXPECT_THAT(ExpertOf(*node_, first).why(), HasSubstr("consent grant"));
  const double before = LossAt(*other);
  Grant(pattern::v1::SHARING_TIER_PUBLIC);
  ASSERT_TRUE(WaitUntil([&] { return ExpertOf(*other, first).standing() == "serving"; }))
      << ExpertOf(*other, first).ShortDebugString() << ExpertOf(*node_, first).ShortDebugString();
  EXPECT_EQ(ExpertOf(*node_, first).standing(), "offered");
  EXPECT_LT(LossAt(*other), before - 0.1);
  Grant(pattern::v1::SHARING_TIER_PRIVATE);
  ASSERT_TRUE(WaitUntil([&] { return ExpertOf(*other, first).standing().empty(); }));
  EXPECT_EQ(LossAt(*other), before);
}

TEST_F(NodeExpertsTest, AnExpertStaysHereWhileSomeoneInItDoesNotAgree) {
  Start();
  ASSERT_NO_FATAL_FAILURE(LearnOnTheFirstNode("ada"));
  Grant(pattern::v1::SHARING_TIER_PUBLIC);
  const Digest first = IdOf(*node_);
  ASSERT_TRUE(WaitUntil([&] {
    return ExpertOf(*node_, first).why().find("may not leave") != std::string::npos;
  })) << ExpertOf(*node_, first).ShortDebugString();
  EXPECT_EQ(ExpertOf(*node_, first).standing(), "none");
}

}  // namespace
}  // namespace ruvd::node
