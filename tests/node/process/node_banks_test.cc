// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests real nodes that federate by timestep bank: what they share, how they combine it, and what
// remains after a restart.

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "federation/daf/adapter_update.h"
#include "federation/limits.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

using testing::AnyOf;

class NodeBanksTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.federation.tls = "off";
    tuning_.background.steps = 5;
    // So few steps of a core do not always give a gain, and without one nothing is shared.
    tuning_.background.min_improvement = -1;
  }
  void TearDown() override {
    second_.reset();
    FederatedNodeTest::TearDown();
  }
  void StartSecond(int banks) {
    second_ = StartMember(
        "b", [banks](config::NodeConfig& config) { config.experimental.banks = banks; });
    ASSERT_NE(second_, nullptr);
  }
  static admin::v1::GetStatusResponse StatusOf(const Node& node) {
    admin::v1::GetStatusResponse response;
    grpc::ClientContext context;
    const auto channel =
        grpc::CreateChannel(node.api_address(), grpc::InsecureChannelCredentials());
    const auto status = admin::v1::AdminService::NewStub(channel)->GetStatus(
        &context, admin::v1::GetStatusRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  using Enough = std::function<bool(const admin::v1::GetStatusResponse&)>;
  static admin::v1::GetStatusResponse Await(const Node& node, const Enough& enough) {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    admin::v1::GetStatusResponse status = StatusOf(node);
    while (!enough(status) && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      status = StatusOf(node);
    }
    return status;
  }
  const privacy::NodeKey peer_key_ = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
  std::unique_ptr<Node> second_;
};

// One node has three banks, the other has two.
TEST_F(NodeBanksTest, APeerOfOtherBanksServesWhatANodeLearnedByBank) {
  config_.experimental.banks = 3;
  Start();
  Teach("", kLesson);
  Grant(pattern::v1::SHARING_TIER_PUBLIC);
  StartSecond(2);
  auto status = Await(*second_, [](const auto& seen) { return seen.peers_size() > 0; });
  ASSERT_EQ(status.peers_size(), 1);
  EXPECT_EQ(status.peers(0).node_id(), node_->id());
  EXPECT_EQ(status.peers(0).refusal(), "");
  ASSERT_EQ(status.peers(0).banks_size(), 2);
  for (const auto& bank : status.peers(0).banks()) {
    EXPECT_EQ(bank.coverage(), 1);
    EXPECT_EQ(bank.weight(), 1);
  }
  ASSERT_EQ(status.federated_round().banks_size(), 2);
  EXPECT_EQ(status.federated_round().boundaries_size(), 1);
  for (const auto& bank : status.federated_round().banks()) {
    EXPECT_THAT(bank.verdict(), AnyOf("committed", "rolled_back"));
    EXPECT_EQ(bank.contributors(), 1u);
  }
  ASSERT_EQ(status.federated_adapter_version(), 1u) << status.DebugString();

  ASSERT_TRUE(node_->Drain(kDrain).ok());
  ASSERT_TRUE(second_->Drain(kDrain).ok());
  second_.reset();
  StartSecond(2);
  EXPECT_EQ(StatusOf(*second_).federated_adapter_version(), 1u) << "before any round";
  status = Await(*second_, [](const auto& seen) { return seen.has_federated_round(); });
  EXPECT_EQ(status.federated_adapter_version(), 1u) << "the stored update says nothing new";
}

}  // namespace
}  // namespace ruvd::node
