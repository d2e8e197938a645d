// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs real nodes that learn one adapter in rounds, each from texts of its own.

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/client/client.h"
#include "privacy/reasons.h"
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
    // These nodes want to keep what they know of documents like those that they are given.
    config_.learning.general_text = folder_ / "general.txt";
    std::ofstream(folder_ / "general.txt")
        << Document("cluster.md", 0, 5000) << Document("glossary.md", 0, 5000);
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
  // A part of one of the project's own documents, in bytes.
  static std::string Document(const std::string& name, size_t begin, size_t end) {
    const auto text = ReadFile(test::SourceDir() + "/docs/" + name, 1 << 20);
    RUVD_CHECK(text.ok() && text->size() > end);
    return text->substr(begin, end - begin);
  }
  void AddText(size_t number, const std::string& name, size_t bytes, pattern::v1::SharingTier tier,
               const std::string& user = "") {
    const auto channel = grpc::CreateChannel(AddressOf(number), grpc::InsecureChannelCredentials());
    const auto stub = learning::v1::LearningService::NewStub(channel);
    grpc::ClientContext context;
    learning::v1::AddLessonsResponse response;
    const auto writer = stub->AddLessons(&context, &response);
    const std::string text = Document(name, 0, bytes);
    learning::v1::AddLessonsRequest request;
    request.mutable_file()->set_name(name);
    request.mutable_file()->set_bytes(text.size());
    request.mutable_file()->set_tier(tier);
    request.mutable_file()->set_user_id(user);
    writer->Write(request);
    request.set_data(text);
    writer->Write(request);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_GT(response.added(), 20U);
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
  // The loss of a part of a document that no node was given, as it is served, in nats per token.
  double LossOf(size_t number, const std::string& name, size_t begin) const {
    double loss = 0;
    constexpr size_t kParts = 8;
    for (size_t part = 0; part < kParts; ++part) {
      inference::v1::ScoreRequest request;
      request.set_prompt(Document(name, begin, begin + 40));
      request.set_completion(Document(name, begin + 40, begin + 500));
      request.set_mode(inference::v1::DECODING_MODE_DIFFUSION);
      request.set_samples(4);
      request.set_seed(1);
      const auto score = ClientOf(number).Call<inference::v1::ScoreResponse>(request);
      EXPECT_TRUE(score.ok()) << score.status();
      loss += score.ok() ? score->nats_per_token() / kParts : 0;
      begin += 1000;
    }
    return loss;
  }
  // Waits for running nodes, which follow the clock; false if it takes too long.
  static bool WaitUntil(const std::function<bool()>& holds) {
    constexpr auto kPatience = std::chrono::minutes(3);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return true;
  }
  // Whether both nodes serve an adapter and hold equal states of equal rounds.
  bool StatesAreEqual(uint64_t contributions) const {
    const admin::v1::RoundsStatus a = RoundsOf(0);
    const admin::v1::RoundsStatus b = RoundsOf(1);
    return a.state_round() == b.state_round() && a.state_digest() == b.state_digest() &&
           a.contributions() >= contributions && a.served_version() > 0 && b.served_version() > 0;
  }

  std::vector<std::unique_ptr<Node>> others_;
};

constexpr char kDocument[] = "store-format.md";
constexpr size_t kGiven = 26'000;

TEST_F(NodeRoundsTest, TwoNodesLearnOneAdapterFromTextsThatNeverLeave) {
  Start();
  StartOther();
  AddText(0, "wire-format.md", 26'000, pattern::v1::SHARING_TIER_PUBLIC);
  AddText(1, kDocument, kGiven, pattern::v1::SHARING_TIER_PUBLIC);
  const double before = LossOf(0, kDocument, kGiven + 100);
  EXPECT_EQ(RoundsOf(0).contributions(), 0U) << "nothing leaves before consent";
  GrantOn(0, pattern::v1::SHARING_TIER_PUBLIC);
  GrantOn(1, pattern::v1::SHARING_TIER_PUBLIC);
  ASSERT_TRUE(WaitUntil([&] { return StatesAreEqual(8); }))
      << RoundsOf(0).DebugString() << RoundsOf(1).DebugString();
  EXPECT_LT(LossOf(0, kDocument, kGiven + 100), before) << "the other node's text is easier here";
  EXPECT_GT(RoundsOf(0).own_contributions(), 0U);
  EXPECT_EQ(RoundsOf(0).plan_id(), RoundsOf(1).plan_id());
  EXPECT_TRUE(RoundsOf(0).refusal().empty()) << RoundsOf(0).refusal();
}

// The noise would hide what two nodes with few lessons learn, so nothing is charged and nothing
// leaves.
TEST_F(NodeRoundsTest, UnderDpTooFewLessonsAreRefusedWithTheFigures) {
  config_.experimental.rounds = "gradient";
  Start();
  AddText(0, kDocument, kGiven, pattern::v1::SHARING_TIER_DP);
  GrantOn(0, pattern::v1::SHARING_TIER_DP);
  // New lessons wait for the next round.
  EXPECT_TRUE(WaitUntil([&] { return RoundsOf(0).refusal_reason() == reasons::kSignalTooWeak; }))
      << RoundsOf(0).refusal();
  EXPECT_EQ(RoundsOf(0).contributions(), 0U);
}

TEST_F(NodeRoundsTest, ATierThatThePlanDoesNotServeIsNamed) {
  Start();
  AddText(0, kDocument, kGiven, pattern::v1::SHARING_TIER_DP);
  GrantOn(0, pattern::v1::SHARING_TIER_DP);
  EXPECT_TRUE(WaitUntil([&] { return !RoundsOf(0).refusal().empty(); }));
  EXPECT_THAT(RoundsOf(0).refusal(), HasSubstr("gradient"));
}

TEST_F(NodeRoundsTest, NodesWithoutRoundsSayNothingOfThem) {
  config_.experimental.rounds = "off";
  Start();
  const auto status = ClientOf(0).Call<admin::v1::GetStatusResponse>(admin::v1::GetStatusRequest());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_FALSE(status->has_rounds());
}

}  // namespace
}  // namespace ruvd::node
