// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests that a node that is stopped leaves its cluster in an orderly way.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "federation/patterns/shared_pattern.h"
#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

class NodeLeaveTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.federation.tls = "off";
    Start();
  }
  federation::GossipConfig PeerConfig() const {
    return ConfigOfPeer(config_, CertificateFor(peer_key_, "peer"));
  }
  // The peer gives the node a pattern. Returns the pattern's id.
  Digest Give(RecordingPeer& peer, const federation::PatternRules& rules) {
    const int64_t now_ms = RecordingPeer::Now().wall_ms;
    peer.Perform(peer.core()
                     .SetConsent(privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, now_ms,
                                                              peer_key_),
                                 RecordingPeer::Now())
                     .value());
    federation::SharedPattern pattern;
    pattern.id.fill(7);
    pattern.task = "chat";
    pattern.examples = 20;
    pattern.created_ms = now_ms;
    pattern.centroid.assign(rules.dimension, 1 / std::sqrt(static_cast<float>(rules.dimension)));
    peer.Perform(peer.core().OfferPattern(pattern, RecordingPeer::Now()).value());
    return peer.core().Items().at(0).id;
  }
  std::optional<federation::MemberState> StateAt(RecordingPeer& peer) const {
    const std::vector<federation::Member> members = peer.core().Members();
    const auto found = std::ranges::find_if(members, [this](const federation::Member& member) {
      return ToHex(member.id) == node_->id();
    });
    return found == members.end() ? std::nullopt : std::optional(found->state);
  }

  const privacy::NodeKey peer_key_ = privacy::NodeKey::FromSeed(privacy::KeySeed{9});
};

// Regression test: the node's links ended with the first frame that came, and with them what a peer
// was fetching.
TEST_F(NodeLeaveTest, ANodeThatIsStoppedSaysSoAndServesWhatIsBeingFetched) {
  const federation::GossipConfig config = PeerConfig();
  RecordingPeer peer(config, peer_key_);
  std::optional<Digest> item;
  std::thread stop;
  bool asked = false;
  // The peer takes part until it was served, or until the link ended.
  peer.TakePartUntil(node_->federation_address(), std::chrono::minutes(2), [&] {
    if (peer.core().active_links() == 0) {
      return item.has_value();
    }
    if (!item) {
      item = Give(peer, config.pattern_rules);
    } else if (!stop.joinable() && Status().cluster().accepted_items_size() > 0) {
      stop = std::thread([&] { EXPECT_TRUE(node_->Drain(kDrain).ok()); });
    } else if (StateAt(peer) == federation::MemberState::kLeft && !std::exchange(asked, true)) {
      federation::v1::WireFrame request;
      request.mutable_chunk_request()->set_item_id(std::string(AsText(*item)));
      peer.Say(request);
    }
    return peer.core().counters().payload_bytes_received > 0;
  });
  EXPECT_GT(peer.core().counters().payload_bytes_received, 0U);
  EXPECT_EQ(StateAt(peer), federation::MemberState::kLeft) << "and is not taken for dead";
  if (stop.joinable()) {
    stop.join();
  }
}

}  // namespace
}  // namespace ruvd::node
