// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs four real nodes of the tier masked: each pays for its share, all of them and a node beside
// them get one mean, and no byte that they send contains anything of a lesson.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

class NodeMaskedTest : public FederatedNodeTest {
 protected:
  static constexpr size_t kNodes = 4;

  void SetUp() override {
    FederatedNodeTest::SetUp();
    AllowReleases();
    // A busy machine may need a second round, which costs another charge.
    config_.privacy.node_epsilon = 10'000;
    config_.privacy.release_seconds = 1;
    tuning_.masked_period = std::chrono::seconds(20);
    // The peer reads what nodes send before TLS encrypts it.
    config_.federation.tls = "off";
    tuning_.background.steps = 5;
    // So few steps of a core do not always give a gain, and without one nothing is shared.
    tuning_.background.min_improvement = -1;
  }
  void TearDown() override {
    others_.clear();
    FederatedNodeTest::TearDown();
  }

  void StartOther(size_t number) {
    others_.push_back(StartMember(fmt::format("node-{}", number), nullptr));
    ASSERT_NE(others_.back(), nullptr);
  }
  // Further requests go to this node.
  void TurnTo(size_t number) { channel_ = channels_[number]; }
  const Node& NodeAt(size_t number) const { return number == 0 ? *node_ : *others_[number - 1]; }
  static size_t SharesOf(const RecordingPeer& peer, const std::string& node) {
    return static_cast<size_t>(
        std::ranges::count_if(peer.accepted(), [&node](const federation::Item& item) {
          return item.kind == federation::ItemKind::kMaskShare && ToHex(item.origin) == node;
        }));
  }
  // Whether the last round of updates of every node took the sum of all four, and the peer has
  // every share that was paid for.
  bool AllTookTheSum(const RecordingPeer& peer) {
    for (size_t i = 0; i < kNodes; ++i) {
      TurnTo(i);
      const auto status = Status();
      if (status.peers_size() != 1 || status.peers(0).members() != kNodes ||
          status.release().releases() != SharesOf(peer, status.node_id())) {
        return false;
      }
    }
    return true;
  }

  std::vector<std::unique_ptr<Node>> others_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  const privacy::NodeKey peer_key_ = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
};

TEST_F(NodeMaskedTest, FourNodesGetOneMeanOfWhatNobodySees) {
  Start();
  for (size_t i = 1; i < kNodes; ++i) {
    ASSERT_NO_FATAL_FAILURE(StartOther(i));
  }
  for (size_t i = 0; i < kNodes; ++i) {
    channels_.push_back(
        grpc::CreateChannel(NodeAt(i).api_address(), grpc::InsecureChannelCredentials()));
    TurnTo(i);
    Teach("", kLesson);
    Grant(pattern::v1::SHARING_TIER_MASKED);
  }
  RecordingPeer peer(ConfigOfPeer(config_, CertificateFor(peer_key_, "peer")), peer_key_);
  ASSERT_TRUE(peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(5),
                                 [&] { return AllTookTheSum(peer); }));

  std::set<std::string> sums;
  for (size_t i = 0; i < kNodes; ++i) {
    TurnTo(i);
    const auto status = Status();
    EXPECT_EQ(status.peers(0).refusal(), "");
    sums.insert(fmt::format("{} of norm {}", status.peers(0).node_id(), status.peers(0).norm()));
    EXPECT_EQ(status.masked().last_members(), kNodes);
    EXPECT_TRUE(status.masked().last_own());
    EXPECT_EQ(status.masked().refusal(), "");
    EXPECT_EQ(status.masked().sums(), 1u);
    EXPECT_GE(status.release().releases(), 1u);
    EXPECT_FALSE(status.accepted_items().contains("adapter_delta"));
    EXPECT_FALSE(status.accepted_items().contains("pattern"));
  }
  EXPECT_EQ(sums.size(), 1u) << "one mean, the same for all";
  for (const federation::Item& item : peer.accepted()) {
    EXPECT_TRUE(federation::IsMaskItem(item.kind)) << federation::ItemKindName(item.kind);
  }
  for (const std::string_view text : {std::string_view(kLesson), std::string_view("lighthouse")}) {
    for (size_t at = 0; at + 8 <= text.size(); ++at) {
      EXPECT_EQ(peer.received().find(text.substr(at, 8)), std::string::npos)
          << "'" << text.substr(at, 8) << "' left a node";
    }
  }
}

}  // namespace
}  // namespace ruvd::node
