// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A running node compares its clock with those of its neighbours.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "federation/link/cluster_clock.h"
#include "ruvd/node/v1/node.pb.h"
#include "tests/node/process/certified_node_fixture.h"
#include "tests/node/process/peer_config.h"
#include "tests/node/process/recording_peer.h"
#include "tests/node/wait_until.h"

namespace ruvd::node {
namespace {

// A clock that is beside the system's.
class BesideClock final : public Clock {
 public:
  explicit BesideClock(int64_t ahead_ms) : ahead_ms_(ahead_ms) {}
  TimePoint Now() const override { return SystemClock().Now(); }
  int64_t WallMillis() const override { return SystemClock().WallMillis() + ahead_ms_; }

 private:
  const int64_t ahead_ms_;
};

class NodeClockTest : public CertifiedNodeTest {
 protected:
  // What the node says about its clock; empty: nothing.
  std::string Problem() {
    const node::v1::GetStatusResponse status = Status();
    for (const auto& part : status.parts()) {
      if (part.name() == "clock") {
        return part.problem();
      }
    }
    return "";
  }
};

// For the node its own clock is right, and those of all three neighbours are three minutes ahead.
TEST_F(NodeClockTest, FederatesByItsNeighboursClocksAndSaysSo) {
  const auto authority = privacy::ClusterAuthority::Generate();
  const int64_t now_ms = SystemClock().WallMillis();
  Certify(authority, authority, now_ms + kLife / 2);
  config_.federation.tls = "off";
  Start();
  EXPECT_EQ(Problem(), "");
  const BesideClock ahead(3 * 60'000);
  std::atomic<bool> over = false;
  struct Neighbour {
    privacy::NodeKey key = privacy::NodeKey::Generate();
    std::unique_ptr<federation::ClusterClock> clock;
    std::unique_ptr<RecordingPeer> peer;
    std::thread thread;
  };
  std::array<Neighbour, 3> neighbours;
  for (size_t i = 0; i < neighbours.size(); ++i) {
    Neighbour& neighbour = neighbours[i];
    neighbour.clock = std::make_unique<federation::ClusterClock>(ahead);
    neighbour.clock->Heard(privacy::NodeId{1}, now_ms);
    neighbour.clock->Heard(privacy::NodeId{2}, now_ms);
    EXPECT_TRUE(neighbour.clock->Check().ok()) << "two others are too few";
    auto config = ConfigOfPeer(config_, authority
                                            .Issue({.node_key = neighbour.key.public_key(),
                                                    .name = "neighbour-" + std::to_string(i),
                                                    .not_before_ms = now_ms - kLife / 2,
                                                    .not_after_ms = now_ms + kLife / 2,
                                                    .serial = i + 10})
                                            .value());
    config.clock = neighbour.clock.get();
    neighbour.peer = std::make_unique<RecordingPeer>(std::move(config), neighbour.key);
    neighbour.thread = std::thread([&] {
      neighbour.peer->TakePartUntil(node_->federation_address(), std::chrono::minutes(2),
                                    [&] { return over.load(); });
    });
  }
  EXPECT_TRUE(test::WaitUntil([&] { return !Problem().empty(); }));
  EXPECT_THAT(Problem(), ::testing::HasSubstr("behind the clocks of most neighbours"));
  // The node's pings name its clock, so each neighbour hears of a third one that is beside its own.
  EXPECT_TRUE(test::WaitUntil([&] {
    return std::ranges::none_of(
        neighbours, [](const Neighbour& neighbour) { return neighbour.clock->Check().ok(); });
  }));
  over = true;
  for (Neighbour& neighbour : neighbours) {
    neighbour.thread.join();
  }
}

}  // namespace
}  // namespace ruvd::node
