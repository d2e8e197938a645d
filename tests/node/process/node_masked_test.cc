// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs four real nodes of the tier masked: each pays for its share, all of them get one sum, and no
// byte that they send contains anything of a lesson.

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

#include "ruvd/privacy/v1/privacy.pb.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/peer_config.h"
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
    config_.privacy.rounds = 2;
    config_.federation.round_seconds = 20;
    // The peer reads what nodes send before TLS encrypts it.
    config_.federation.tls = "off";
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
  // Whether every node serves one adapter of the sum of all four, and the peer has every share that
  // was paid for.
  bool AllServeTheSum(const RecordingPeer& peer) {
    std::set<std::string> states;
    for (size_t i = 0; i < kNodes; ++i) {
      TurnTo(i);
      const auto status = Status();
      states.insert(status.rounds().state_digest());
      if (status.rounds().served_version() == 0 || status.rounds().last_members() != kNodes ||
          status.release().releases() != SharesOf(peer, status.node().id())) {
        return false;
      }
    }
    return states.size() == 1;
  }

  std::vector<std::unique_ptr<Node>> others_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  const privacy::NodeKey peer_key_ = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
};

TEST_F(NodeMaskedTest, FourNodesLearnOneAdapterOfWhatNobodySees) {
  Start();
  for (size_t i = 1; i < kNodes; ++i) {
    ASSERT_NO_FATAL_FAILURE(StartOther(i));
  }
  for (size_t i = 0; i < kNodes; ++i) {
    channels_.push_back(
        grpc::CreateChannel(NodeAt(i).api_address(), grpc::InsecureChannelCredentials()));
    TurnTo(i);
    AddManyTexts(NodeAt(i).api_address(), privacy::v1::SHARING_TIER_MASKED);
    Grant(privacy::v1::SHARING_TIER_MASKED);
  }
  RecordingPeer peer(ConfigOfPeer(config_, CertificateFor(peer_key_, "peer")), peer_key_);
  ASSERT_TRUE(peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(5), [&] {
    return AllServeTheSum(peer);
  })) << Status().DebugString();

  for (size_t i = 0; i < kNodes; ++i) {
    TurnTo(i);
    const auto status = Status();
    EXPECT_GE(status.release().releases(), 1U);
    EXPECT_TRUE(status.release().sums());
    EXPECT_LE(status.release().spent_epsilon(), 8);
    EXPECT_FALSE(status.cluster().accepted_items().contains("pattern"));
  }
  for (const federation::Item& item : peer.accepted()) {
    EXPECT_TRUE(federation::IsMaskItem(item.kind) || item.kind == federation::ItemKind::kCheckpoint)
        << federation::ItemKindName(item.kind);
  }
  for (const std::string& text :
       {Document(kDocument, 1000, 1200), Document("wire-format.md", 9000, 9200)}) {
    // Shorter pieces are in messages of nodes, too, such as "another link is".
    constexpr size_t kPiece = 24;
    for (size_t at = 0; at + kPiece <= text.size(); ++at) {
      EXPECT_EQ(peer.received().find(text.substr(at, kPiece)), std::string::npos)
          << "'" << text.substr(at, kPiece) << "' left a node";
    }
  }
}

}  // namespace
}  // namespace ruvd::node
