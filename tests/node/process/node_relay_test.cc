// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A real node carries a link between two peers that cannot dial each other, over real streams.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/node/process/federated_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"

namespace ruvd::node {
namespace {

class NodeRelayTest : public FederatedNodeTest {
 protected:
  void SetUp() override {
    FederatedNodeTest::SetUp();
    config_.federation.tls = "off";
  }
  // Takes part as a peer without an address until both peers have measured the path to each other.
  // Returns whether they did.
  bool TakePart(const privacy::NodeKey& key, const std::string& name,
                const privacy::NodeId& other) {
    federation::GossipConfig gossip = ConfigOfPeer(config_, CertificateFor(key, name));
    gossip.seeds = {node_->federation_address()};
    RecordingPeer peer(std::move(gossip), key);
    bool mine = false;
    return peer.TakePartUntil(node_->federation_address(), kPatience, [&] {
      const std::vector<federation::Member> members = peer.core().Members();
      const auto found = std::ranges::find(members, other, &federation::Member::id);
      if (!mine && peer.core().RelayTo(other) && found != members.end() && found->rtt) {
        mine = true;
        ++linked_;
      }
      return linked_ == 2;
    });
  }

  static constexpr std::chrono::seconds kPatience{60};
  std::atomic<int> linked_{0};
};

TEST_F(NodeRelayTest, CarriesALinkOfTwoPeersOverItsStreams) {
  Start();
  const privacy::NodeKey one = privacy::NodeKey::Generate();
  const privacy::NodeKey other = privacy::NodeKey::Generate();
  bool reached = false;
  std::thread second([&] { reached = TakePart(other, "c", one.id()); });
  EXPECT_TRUE(TakePart(one, "b", other.id()));
  second.join();
  EXPECT_TRUE(reached);
}

}  // namespace
}  // namespace ruvd::node
