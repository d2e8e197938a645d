// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Newcomers wait outside the mesh of settled nodes; no other node waits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/federation/swarm.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::Not;

privacy::AdmissionCert CertificateSince(const privacy::NodeKey& key, const std::string& name,
                                        int64_t since_ms) {
  return CertificateFor(key, name, Authority(), privacy::roles::kMember, since_ms,
                        kWallStart + 20 * kDayMillis);
}

class Probation : public testing::Test {
 protected:
  std::unique_ptr<TestPeer> Peer(CoreUnderTest& target, uint64_t number, int64_t since_ms) {
    auto peer =
        std::make_unique<TestPeer>(target, number, number + 6, [&](federation::LocalNode& local) {
          local.certificate = CertificateSince(*local.key, "peer", since_ms);
        });
    EXPECT_EQ(peer->Dial().closed, "");
    return peer;
  }
  static Answers Graft(TestPeer& peer) {
    WireFrame frame;
    frame.mutable_graft();
    return peer.Send(frame);
  }
  // Gives a node settled neighbours.
  void Surround(CoreUnderTest& target, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      peers_.push_back(Peer(target, 1 + i, kWallStart - kDayMillis));
      EXPECT_EQ(Graft(*peers_.back()).Find(WireFrame::kPrune), nullptr);
    }
  }

  std::vector<std::unique_ptr<TestPeer>> peers_;
};

TEST_F(Probation, ASettledNodeWithNeighboursLetsNewcomersWait) {
  CoreUnderTest target;
  Surround(target, limits::kMeshLow);
  const auto newcomer = Peer(target, 20, kWallStart - 60'000);
  const Answers refused = Graft(*newcomer);
  ASSERT_NE(refused.Find(WireFrame::kPrune), nullptr);
  EXPECT_EQ(refused.Find(WireFrame::kPrune)->prune().backoff_ms(),
            limits::kProbationMillis - 60'000);
  EXPECT_THAT(target.core().MeshPeers(), Not(Contains(newcomer->key().id())));
  EXPECT_EQ(target.core().ScoreOf(newcomer->key().id()), 0);
  target.Advance(std::chrono::milliseconds(limits::kProbationMillis - 60'000));
  EXPECT_EQ(Graft(*newcomer).Find(WireFrame::kPrune), nullptr);
  EXPECT_THAT(target.core().MeshPeers(), Contains(newcomer->key().id()));
}

TEST_F(Probation, WhoIsShortOfNeighboursTakesNewcomers) {
  CoreUnderTest target;
  Surround(target, limits::kMeshLow - 1);
  const auto newcomer = Peer(target, 20, kWallStart - 60'000);
  EXPECT_EQ(Graft(*newcomer).Find(WireFrame::kPrune), nullptr);
}

TEST_F(Probation, NewcomersTakeEachOther) {
  CoreUnderTest target(0, [](federation::GossipConfig& config) {
    config.certificate =
        CertificateSince(privacy::NodeKey::FromSeed(SeedOf(0)), "new", kWallStart - 1000);
  });
  Surround(target, limits::kMeshLow);
  const auto newcomer = Peer(target, 20, kWallStart - 60'000);
  EXPECT_EQ(Graft(*newcomer).Find(WireFrame::kPrune), nullptr);
}

bool KnowEachOther(Swarm& swarm) {
  for (size_t i = 0; i < swarm.size(); ++i) {
    if (swarm.core(i).Members().size() != swarm.size()) {
      return false;
    }
  }
  return true;
}

TEST(ProbationInASwarm, ANewClusterComesUpAtOnce) {
  Swarm swarm(
      {.nodes = 50, .seed = 2, .configure = [](size_t node, federation::GossipConfig& config) {
         config.certificate = CertificateSince(privacy::NodeKey::FromSeed(SeedOf(node)),
                                               config.certificate.name, kWallStart - 1000);
       }});
  EXPECT_TRUE(swarm.RunUntil([&] { return KnowEachOther(swarm); }, seconds(10)));
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.MeshReach() == swarm.size(); }, seconds(10)));
}

TEST(ProbationInASwarm, ANewcomerIsOutsideAndYetLearnsEverything) {
  constexpr size_t kNew = 39;
  Swarm swarm(
      {.nodes = 40, .seed = 3, .configure = [](size_t node, federation::GossipConfig& config) {
         if (node == kNew) {
           config.certificate =
               CertificateSince(privacy::NodeKey::FromSeed(SeedOf(node)), "new", kWallStart - 1000);
         }
       }});
  std::vector<int> groups(swarm.size());
  groups[kNew] = 1;
  swarm.Partition(groups);  // it comes when the others have settled
  swarm.Run(seconds(30));
  swarm.Partition({});
  EXPECT_TRUE(swarm.RunUntil([&] { return KnowEachOther(swarm); }, seconds(30)));
  swarm.Run(seconds(30));
  swarm.Share(0);
  auto offered = swarm.core(0).OfferPattern(PatternOf(1), swarm.now());
  ASSERT_TRUE(offered.ok());
  swarm.Apply(0, *std::move(offered));
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.Converged(1); }, seconds(60)));
  size_t taken = 0;
  for (size_t i = 0; i < kNew; ++i) {
    const std::vector<privacy::NodeId> peers = swarm.core(i).MeshPeers();
    taken += std::ranges::count(peers, swarm.id(kNew)) > 0 ? 1 : 0;
  }
  EXPECT_LT(taken, limits::kMeshLow);
  swarm.Run(std::chrono::minutes(10));
  EXPECT_GE(swarm.core(kNew).MeshPeers().size(), limits::kMeshLow);
}

}  // namespace
}  // namespace ruvd::test
