// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "federation/gossip/recon_schedule.h"
#include "federation/limits.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

privacy::NodeId Peer(federation::LinkId link) {
  privacy::NodeId id{};
  id[0] = static_cast<uint8_t>(link);
  return id;
}

const auto kNeutral = [](federation::LinkId) { return 0.0; };

class MeshTest : public testing::Test {
 protected:
  void Up(federation::LinkId first, federation::LinkId last, bool outbound, bool graft = true,
          const federation::Mesh::Source& source = {}) {
    for (federation::LinkId link = first; link <= last; ++link) {
      mesh_.LinkUp(link, Peer(link), outbound, source, now_);
      if (graft) {
        mesh_.Graft(link);
      }
    }
  }
  size_t Outbound(federation::LinkId last_outbound) const {
    return static_cast<size_t>(
        std::count_if(mesh_.links().begin(), mesh_.links().end(),
                      [&](federation::LinkId link) { return link <= last_outbound; }));
  }

  TimePoint now_{};
  federation::Mesh mesh_{Random(1)};
};

TEST_F(MeshTest, AsksForNeighboursUpToItsDegreeAndTheCluster) {
  EXPECT_EQ(mesh_.Heartbeat(100, kNeutral, now_).dials, limits::kMeshDegree);
  EXPECT_EQ(mesh_.Heartbeat(2, kNeutral, now_).dials, 2U);
  EXPECT_EQ(mesh_.Heartbeat(0, kNeutral, now_).dials, 0U);
  Up(1, limits::kMeshLow, /*outbound=*/true);
  EXPECT_EQ(mesh_.Heartbeat(100, kNeutral, now_).dials, 0U);
}

TEST_F(MeshTest, GraftsLinksThatAreThereBeforeItDials) {
  Up(1, 4, /*outbound=*/true, /*graft=*/false);
  const federation::Mesh::Plan plan = mesh_.Heartbeat(100, kNeutral, now_);
  EXPECT_THAT(plan.graft, SizeIs(4));
  EXPECT_EQ(plan.dials, 2U);
}

TEST_F(MeshTest, WantsLinksOfItsOwnChoice) {
  Up(1, 8, /*outbound=*/false);  // enough, but all of them chose us
  EXPECT_EQ(mesh_.Heartbeat(100, kNeutral, now_).dials, limits::kMeshOutbound);
}

TEST_F(MeshTest, TooManyArePrunedToItsDegreeKeepingItsOwnAndTheBest) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    mesh_ = federation::Mesh(Random(seed));
    Up(1, 3, /*outbound=*/true);
    Up(4, 20, /*outbound=*/false);
    const auto score = [](federation::LinkId link) { return link >= 17 ? 1.0 : 0.0; };
    const federation::Mesh::Plan plan = mesh_.Heartbeat(100, score, now_);
    EXPECT_THAT(plan.prune, SizeIs(20 - limits::kMeshDegree));
    EXPECT_THAT(mesh_.links(), SizeIs(limits::kMeshDegree));
    EXPECT_GE(Outbound(3), limits::kMeshOutbound);
    for (federation::LinkId best = 17; best <= 20; ++best) {
      EXPECT_TRUE(mesh_.Contains(best)) << "seed " << seed;
    }
  }
}

TEST_F(MeshTest, APrunedPeerIsNotGraftedBeforeItsBackoffIsOver) {
  Up(1, 1, /*outbound=*/true);
  mesh_.OnPrune(1, limits::kPruneBackoff, now_);
  EXPECT_THAT(mesh_.links(), IsEmpty());
  EXPECT_FALSE(mesh_.OnGraft(1, 0, now_ + limits::kPruneBackoff / 2));
  EXPECT_THAT(mesh_.Heartbeat(100, kNeutral, now_ + seconds(1)).graft, IsEmpty());
  EXPECT_TRUE(mesh_.OnGraft(1, 0, now_ + limits::kPruneBackoff));
}

TEST_F(MeshTest, APeerThatLeavesIsNoNeighbourAndMayBeOneOverItsNextLink) {
  Up(1, 1, /*outbound=*/true);
  mesh_.OnLeaving(1, now_);
  EXPECT_THAT(mesh_.links(), IsEmpty());
  EXPECT_FALSE(mesh_.OnGraft(1, 0, now_));
  EXPECT_THAT(mesh_.Heartbeat(100, kNeutral, now_ + seconds(1)).graft, IsEmpty());
  mesh_.LinkDown(1);
  mesh_.LinkUp(2, Peer(1), /*outbound=*/false, {}, now_ + seconds(2));
  EXPECT_TRUE(mesh_.OnGraft(2, 0, now_ + seconds(2)));
}

TEST_F(MeshTest, ANewcomerFindsTheDoorOpenThoughTheMeshIsFull) {
  Up(1, limits::kMeshHigh, /*outbound=*/true);
  Up(30, 30, /*outbound=*/false, /*graft=*/false);
  EXPECT_TRUE(mesh_.OnGraft(30, 0, now_));
}

TEST_F(MeshTest, BadScoresLeaveAndStayOut) {
  Up(1, 6, /*outbound=*/true);
  const auto score = [](federation::LinkId link) { return link == 2 ? -1.0 : 0.0; };
  EXPECT_THAT(mesh_.Heartbeat(100, score, now_).prune, ElementsAre(2));
  EXPECT_FALSE(mesh_.OnGraft(2, -1, now_ + limits::kPruneBackoff));
}

TEST_F(MeshTest, ThePlaceOfABadScoreIsGivenToAnother) {
  Up(1, limits::kMeshDegree, /*outbound=*/true);
  Up(20, 20, /*outbound=*/true, /*graft=*/false);
  const auto score = [](federation::LinkId link) { return link <= 2 ? -1.0 : 0.0; };
  const federation::Mesh::Plan plan = mesh_.Heartbeat(100, score, now_);
  EXPECT_THAT(plan.graft, ElementsAre(20));
  EXPECT_EQ(plan.dials, 1U);
}

constexpr federation::Mesh::Source kCrowd = {1};

TEST_F(MeshTest, ACrowdOfOneSourceDisplacesNoOtherSource) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    mesh_ = federation::Mesh(Random(seed));
    Up(1, 5, /*outbound=*/true);
    Up(11, 30, /*outbound=*/false, /*graft=*/true, kCrowd);
    // The crowd even has the best scores.
    const auto score = [](federation::LinkId link) { return link > 10 ? 5.0 : 0.0; };
    mesh_.Heartbeat(100, score, now_);
    EXPECT_THAT(mesh_.links(), SizeIs(limits::kMeshDegree));
    EXPECT_EQ(Outbound(5), limits::kMeshDegree - limits::kMeshOfSource) << "seed " << seed;
  }
}

TEST_F(MeshTest, MembersOfOneSourceKeepEveryPlaceThatOthersDoNotTake) {
  Up(1, 1, /*outbound=*/false);
  Up(11, 24, /*outbound=*/true, /*graft=*/true, kCrowd);
  mesh_.Heartbeat(100, kNeutral, now_);
  EXPECT_THAT(mesh_.links(), SizeIs(limits::kMeshDegree));
  EXPECT_TRUE(mesh_.Contains(1));
  Up(40, 40, /*outbound=*/false, /*graft=*/false, kCrowd);
  EXPECT_TRUE(mesh_.OnGraft(40, 0, now_));
}

TEST_F(MeshTest, AMeshOfOneSourceIsLikeAnyOther) {
  federation::Mesh other{Random(1)};
  for (federation::LinkId link = 1; link <= 20; ++link) {
    other.LinkUp(link, Peer(link), /*outbound=*/link < 4, kCrowd, now_);
    other.Graft(link);
  }
  Up(1, 3, /*outbound=*/true);
  Up(4, 20, /*outbound=*/false);
  for (int second = 0; second < 100; ++second) {
    const TimePoint now = now_ + seconds(second);
    const federation::Mesh::Plan plan = mesh_.Heartbeat(100, kNeutral, now);
    const federation::Mesh::Plan same = other.Heartbeat(100, kNeutral, now);
    EXPECT_EQ(plan.prune, same.prune);
    EXPECT_EQ(plan.graft, same.graft);
    EXPECT_EQ(plan.dials, same.dials);
  }
}

TEST_F(MeshTest, AMeshThatACrowdFilledTakesInOtherSources) {
  Up(11, 20, /*outbound=*/true, /*graft=*/true, kCrowd);
  Up(30, 31, /*outbound=*/false, /*graft=*/false, kCrowd);
  EXPECT_THAT(mesh_.Heartbeat(100, kNeutral, now_).graft, IsEmpty());
  Up(1, 4, /*outbound=*/false, /*graft=*/false);
  const federation::Mesh::Plan plan = mesh_.Heartbeat(100, kNeutral, now_);
  EXPECT_THAT(plan.graft, SizeIs(limits::kMeshDegree - limits::kMeshOfSource));
  EXPECT_THAT(plan.prune, SizeIs(10 - limits::kMeshOfSource));
  EXPECT_THAT(mesh_.links(), SizeIs(limits::kMeshDegree));
  EXPECT_EQ(Outbound(4), limits::kMeshDegree - limits::kMeshOfSource);
}

// Regression test: ten members behind one address kept ten of twelve places, because two honest
// links in the mesh made it too large to graft a third one and too small to prune.
TEST_F(MeshTest, ACrowdInAMeshThatIsNotFullKeepsHalfOfIt) {
  Up(11, 20, /*outbound=*/false, /*graft=*/true, kCrowd);
  Up(1, 2, /*outbound=*/true);
  mesh_.Heartbeat(100, kNeutral, now_);
  EXPECT_THAT(mesh_.links(), SizeIs(12)) << "no other link waits";
  Up(3, 5, /*outbound=*/false, /*graft=*/false);
  mesh_.Heartbeat(100, kNeutral, now_);
  EXPECT_THAT(mesh_.links(), SizeIs(limits::kMeshDegree));
  EXPECT_EQ(Outbound(5), limits::kMeshDegree - limits::kMeshOfSource);
  for (federation::LinkId link = 11; link <= 20; ++link) {
    mesh_.OnGraft(link, 0, now_);  // the crowd tries again, in vain before its backoff is over
  }
  EXPECT_THAT(mesh_.links(), SizeIs(limits::kMeshDegree));
}

// A prune for the sake of sources leaves what this node chose itself.
TEST_F(MeshTest, LinksOfItsOwnChoiceStayWhateverTheirSource) {
  Up(11, 18, /*outbound=*/false, /*graft=*/true, kCrowd);
  Up(21, 24, /*outbound=*/true, /*graft=*/true, kCrowd);
  Up(1, 6, /*outbound=*/false, /*graft=*/false);
  mesh_.Heartbeat(100, kNeutral, now_);
  EXPECT_GE(std::ranges::count_if(mesh_.links(), [](auto link) { return link >= 21; }),
            limits::kMeshOutbound);
}

TEST_F(MeshTest, IdleLinksEndAndUsedOnesDoNot) {
  Up(1, 6, /*outbound=*/true);
  Up(7, 7, /*outbound=*/true, /*graft=*/false);
  Up(8, 8, /*outbound=*/false, /*graft=*/false);
  EXPECT_EQ(mesh_.LeastRecentlyUsed(), 7U);
  mesh_.Touch(7, now_ + seconds(3));
  EXPECT_EQ(mesh_.LeastRecentlyUsed(), 8U);
  EXPECT_THAT(mesh_.Heartbeat(100, kNeutral, now_ + seconds(6)).idle, IsEmpty());
  EXPECT_THAT(mesh_.Heartbeat(100, kNeutral, now_ + seconds(9)).idle, ElementsAre(7));
  mesh_.LinkDown(7);
  EXPECT_THAT(mesh_.Heartbeat(100, kNeutral, now_ + seconds(61)).idle, ElementsAre(8));
}

TEST_F(MeshTest, NowAndThenOneNeighbourMore) {
  Up(1, 6, /*outbound=*/true);
  size_t dials = 0;
  for (int second = 0; second < 600; ++second) {
    dials += mesh_.Heartbeat(100, kNeutral, now_ + seconds(second)).dials;
  }
  EXPECT_GE(dials, 6U);
  EXPECT_LE(dials, 20U);
}

TEST(ReconSchedule, HastensThenDoublesBack) {
  Random random(1);
  federation::ReconSchedule schedule;
  TimePoint now{};
  std::vector<double> gaps;
  const auto next = [&] {
    const TimePoint begun = now;
    while (!schedule.Due(now)) {
      now += milliseconds(100);
    }
    gaps.push_back(std::chrono::duration<double>(now - begun).count());
    schedule.Begun(/*scale=*/2, now, random);
  };
  schedule.RunSoon(now);
  for (int i = 0; i < 30; ++i) {
    next();
  }
  const auto busy =
      std::count_if(gaps.begin() + 1, gaps.end(), [](double gap) { return gap <= 1.3; });
  EXPECT_EQ(busy, limits::kReconBusyExchanges);
  EXPECT_NEAR(gaps[limits::kReconBusyExchanges + 1], 2, 0.4);
  EXPECT_NEAR(gaps[limits::kReconBusyExchanges + 2], 4, 0.6);
  EXPECT_GE(gaps.back(), 60);
  EXPECT_LE(gaps.back(), 66.1);
}

}  // namespace
}  // namespace ruvd::test
