// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs real nodes that learn one adapter in rounds, each from texts of its own.

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "node/client/client.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "tests/node/process/federated_node_fixture.h"

namespace ruvd::node {
namespace {

using testing::HasSubstr;

class NodeRoundsTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.experimental.rounds = "delta";
    config_.federation.round_seconds = 2;
  }
  void TearDown() override {
    others_.clear();
    FederatedNodeTest::TearDown();
  }
  void StartOther(const std::function<void(config::NodeConfig&)>& change = nullptr) {
    others_.push_back(StartMember("node-" + std::to_string(others_.size() + 1), change));
    ASSERT_NE(others_.back(), nullptr);
  }
  std::string AddressOf(size_t number) const {
    return number == 0 ? node_->api_address() : others_[number - 1]->api_address();
  }
  client::NodeClient ClientOf(size_t number) const { return client::NodeClient(AddressOf(number)); }
  // Sentences that differ from each other and between topics.
  static std::string Document(const std::string& topic, int from, int sentences) {
    std::string text;
    for (int i = from; i < from + sentences; ++i) {
      text += "The " + topic + " of house " + std::to_string(i) + " is checked on day " +
              std::to_string(i * 7 % 31) + " and its keeper writes the result into the book. ";
    }
    return text;
  }
  void AddText(size_t number, const std::string& topic, pattern::v1::SharingTier tier,
               const std::string& user = "") {
    const auto channel = grpc::CreateChannel(AddressOf(number), grpc::InsecureChannelCredentials());
    const auto stub = learning::v1::LearningService::NewStub(channel);
    grpc::ClientContext context;
    learning::v1::AddLessonsResponse response;
    const auto writer = stub->AddLessons(&context, &response);
    const std::string text = Document(topic, 0, 60);
    learning::v1::AddLessonsRequest request;
    request.mutable_file()->set_name(topic + ".txt");
    request.mutable_file()->set_bytes(text.size());
    request.mutable_file()->set_tier(tier);
    request.mutable_file()->set_user_id(user);
    writer->Write(request);
    request.set_data(text);
    writer->Write(request);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_GT(response.added(), 4U);
  }
  void GrantOn(size_t number, pattern::v1::SharingTier tier) {
    admin::v1::SetConsentRequest request;
    request.set_tier(tier);
    const auto answer = ClientOf(number).Call<admin::v1::SetConsentResponse>(request);
    ASSERT_TRUE(answer.ok()) << answer.status();
  }
  admin::v1::RoundsStatus RoundsOf(size_t number) const {
    const auto status =
        ClientOf(number).Call<admin::v1::GetStatusResponse>(admin::v1::GetStatusRequest());
    EXPECT_TRUE(status.ok()) << status.status();
    return status.ok() ? status->rounds() : admin::v1::RoundsStatus();
  }
  // The loss of unseen text of a topic, as it is served, in nats per token.
  double LossOf(size_t number, const std::string& topic) const {
    inference::v1::ScoreRequest request;
    request.set_prompt("The");
    request.set_completion(Document(topic, 100, 2).substr(3));
    request.set_samples(8);
    request.set_seed(1);
    const auto score = ClientOf(number).Call<inference::v1::ScoreResponse>(request);
    EXPECT_TRUE(score.ok()) << score.status();
    return score.ok() ? score->nats_per_token() : 0;
  }
  // Waits until both nodes hold equal states of equal rounds with contributions of both.
  bool WaitForEqualStates(uint64_t contributions) {
    for (int i = 0; i < 600; ++i) {
      const admin::v1::RoundsStatus a = RoundsOf(0);
      const admin::v1::RoundsStatus b = RoundsOf(1);
      if (a.state_round() == b.state_round() && a.state_digest() == b.state_digest() &&
          a.contributions() >= contributions && a.served_version() > 0 && b.served_version() > 0) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return false;
  }

  std::vector<std::unique_ptr<Node>> others_;
};

TEST_F(NodeRoundsTest, TwoNodesLearnOneAdapterFromTextsThatNeverLeave) {
  Start();
  StartOther();
  AddText(0, "boiler", pattern::v1::SHARING_TIER_PUBLIC);
  AddText(1, "turbine", pattern::v1::SHARING_TIER_PUBLIC);
  const double before = LossOf(0, "turbine");
  EXPECT_EQ(RoundsOf(0).contributions(), 0U) << "nothing leaves before consent";
  GrantOn(0, pattern::v1::SHARING_TIER_PUBLIC);
  GrantOn(1, pattern::v1::SHARING_TIER_PUBLIC);
  ASSERT_TRUE(WaitForEqualStates(8)) << RoundsOf(0).DebugString() << RoundsOf(1).DebugString();
  EXPECT_LT(LossOf(0, "turbine"), before - 0.01) << "the other node's text is easier here, too";
  EXPECT_GT(RoundsOf(0).own_contributions(), 0U);
  EXPECT_EQ(RoundsOf(0).plan_id(), RoundsOf(1).plan_id());
}

}  // namespace
}  // namespace ruvd::node
