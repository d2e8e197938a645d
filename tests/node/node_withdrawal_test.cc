// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What is taken back leaves the peers of a running node, and the node drops what peers take back.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "node/actors/shared_items.h"
#include "node/cli/command.h"
#include "tests/node/federated_node_fixture.h"
#include "tests/node/recording_peer.h"

namespace ruvd {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NodeWithdrawalTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    AllowReleases();
    config_.federation.tls = "off";
  }
  int Run(std::vector<std::string> arguments) {
    out_.str("");
    CommandContext context{.out = out_, .err = out_, .environment = {}};
    arguments.insert(arguments.end(), {"--server", node_->api_address()});
    return RunCommandLine(arguments, context);
  }
  GossipConfig PeerConfig() const {
    return ConfigOfPeer(config_, CertificateFor(peer_key_, "peer"));
  }
  static size_t Accepted(const RecordingPeer& peer, ItemKind kind) {
    return static_cast<size_t>(std::ranges::count(peer.accepted(), kind, &Item::kind));
  }
  bool TakePart(RecordingPeer& peer, const std::function<bool()>& done) {
    return peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(2), done);
  }

  const NodeKey peer_key_ = NodeKey::FromSeed(KeySeed{9});
  std::ostringstream out_;
};

TEST_F(NodeWithdrawalTest, AUserWhoWithdrawsIsTakenOutOfWhatPeersHave) {
  Start();
  ASSERT_EQ(Run({"consent", "allow", "--user", "alice", "--tier", "dp"}), 0) << out_.str();
  Teach("alice", kLesson);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << out_.str();
  ASSERT_EQ(Release().releases(), 1u) << Release().refusal();
  RecordingPeer peer(PeerConfig(), peer_key_);
  bool asked = false;
  ASSERT_TRUE(TakePart(peer, [&] {
    if (!asked && Accepted(peer, ItemKind::kAdapterDelta) == 1) {
      asked = true;
      EXPECT_EQ(peer.core().NewestDeltas().size(), 1u);
      EXPECT_EQ(Run({"consent", "withdraw", "--user", "alice"}), 0) << out_.str();
    }
    return Accepted(peer, ItemKind::kWithdrawal) > 0;
  }));
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("1 updates, 0 patterns"), HasSubstr("1 linked peer"),
                                HasSubstr("1 noised release(s)"), HasSubstr("epsilon"),
                                HasSubstr("not given back")));
  EXPECT_TRUE(peer.core().NewestDeltas().empty());
}

// A peer that was away hears of it from the node, or from whoever has heard of it, after a restart.
TEST_F(NodeWithdrawalTest, AnErasedUserIsTakenOutOfWhatAbsentPeersHave) {
  Start();
  ASSERT_EQ(Run({"consent", "allow", "--user", "alice", "--tier", "dp"}), 0) << out_.str();
  Teach("alice", kLesson);
  ASSERT_EQ(Run({"consent", "grant", "--tier", "dp"}), 0) << out_.str();
  RecordingPeer peer(PeerConfig(), peer_key_);
  ASSERT_TRUE(TakePart(peer, [&] { return Accepted(peer, ItemKind::kAdapterDelta) == 1; }));
  ASSERT_EQ(Run({"store", "erase", "--running", "--user", "alice"}), 0) << out_.str();
  Restart();
  ASSERT_TRUE(TakePart(peer, [&] { return Accepted(peer, ItemKind::kWithdrawal) > 0; }));
  EXPECT_TRUE(peer.core().NewestDeltas().empty());
}

TEST_F(NodeWithdrawalTest, WhatAPeerTakesBackIsNeitherKeptNorServed) {
  Start();
  RecordingPeer peer(PeerConfig(), peer_key_);
  const Instant now = RecordingPeer::Now();
  ASSERT_TRUE(
      peer.core()
          .SetConsent(ConsentRecord::Sign(ConsentTier::kPublic, now.wall_ms, peer_key_), now)
          .ok());
  const AdapterDelta delta = SmallDelta();
  SharedPattern pattern{.id = {7}, .quality = 1, .examples = 10, .created_ms = now.wall_ms};
  pattern.centroid.assign(PeerConfig().pattern_rules.dimension, 0);
  pattern.centroid[0] = 1;
  int step = 0;
  EXPECT_TRUE(TakePart(
      peer,
      [&] {
        if (step == 0 && peer.core().active_links() == 1) {
          step = 1;
          peer.Perform(peer.core().OfferAdapterDelta(1, delta, RecordingPeer::Now()).value());
          peer.Perform(peer.core().OfferPattern(pattern, RecordingPeer::Now()).value());
        } else if (step == 1 && Status().patterns() == 1 &&
                   Status().federated_adapter_version() > 0) {
          step = 2;
          const std::vector<Item> sent = peer.core().NewestDeltas();
          const auto record = Withdrawal::Sign({sent.at(0).id}, /*everything=*/false, now.wall_ms,
                                               peer_key_, {pattern.id});
          peer.Perform(peer.core().OfferWithdrawal(record.value(), RecordingPeer::Now()).value());
        }
        return step == 2 && Status().patterns() == 0 && Status().federated_adapter_version() == 0;
      }))
      << "at step " << step;
}

}  // namespace
}  // namespace ruvd
