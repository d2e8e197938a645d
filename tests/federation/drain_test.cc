// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// A node that leaves finishes what runs, begins nothing, and is gone in time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/reasons.h"
#include "tests/federation/swarm.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

class DrainTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(peer_.Dial().closed, "");
    Answers consented;
    consented.Add(*target_.core().SetConsent(
        privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, target_.now().wall_ms,
                                     target_.key()),
        target_.now()));
    Answers offered;
    offered.Add(*target_.core().OfferPattern(PatternOf(9), target_.now()));
    own_ = offered.accepted.at(0).id;
  }
  Answers Drain(Duration deadline) {
    Answers answers;
    answers.Add(target_.core().Drain(deadline, target_.now()));
    return answers;
  }
  Answers Pass(Duration duration) {
    target_.Advance(duration);
    Answers answers;
    answers.Add(target_.core().OnTick(target_.now()));
    return answers;
  }
  Answers Ask() {
    WireFrame frame;
    frame.mutable_chunk_request()->set_item_id(std::string(AsText(own_)));
    return peer_.Send(frame);
  }

  CoreUnderTest target_;
  TestPeer peer_{target_, 1, 7};
  Digest own_{};
};

TEST_F(DrainTest, ServesWhatRunsAndTakesNothingNew) {
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1));
  const Answers running = peer_.Push(peer_.Manifest(federation::ItemKind::kPattern, payload));
  ASSERT_NE(running.Find(WireFrame::kChunkRequest), nullptr);
  const Answers goodbye = Drain(seconds(5));
  ASSERT_NE(goodbye.Find(WireFrame::kGoaway), nullptr);
  EXPECT_EQ(goodbye.Find(WireFrame::kGoaway)->goaway().reason(), reasons::kNodeDraining);
  EXPECT_EQ(goodbye.Find(WireFrame::kGoaway)->goaway().drain_ms(), 5000U);
  EXPECT_NE(goodbye.Find(WireFrame::kMemberDelta), nullptr);
  EXPECT_EQ(goodbye.closed, "");
  EXPECT_FALSE(Ask().Find(WireFrame::kChunk)->chunk().missing());
  EXPECT_EQ(peer_.Serve(running, payload).accepted.size(), 1U);
  const Answers late = peer_.Push(peer_.Manifest(federation::ItemKind::kPattern,
                                                 federation::EncodeSharedPattern(PatternOf(2))));
  EXPECT_EQ(late.Find(WireFrame::kChunkRequest), nullptr);
  TestPeer newcomer(target_, 2, 8);
  EXPECT_EQ(newcomer.Dial().closed, reasons::kNodeDraining);
  EXPECT_FALSE(target_.core().drained());
}

TEST_F(DrainTest, EndsWhenNobodyAsksAnyMore) {
  Drain(seconds(10));
  EXPECT_EQ(Pass(limits::kDrainQuiet / 2).closed, "");
  Ask();
  EXPECT_EQ(Pass(limits::kDrainQuiet - milliseconds(1)).closed, "");
  EXPECT_EQ(Pass(milliseconds(1)).closed, reasons::kNodeDraining);
  EXPECT_TRUE(target_.core().drained());
}

TEST_F(DrainTest, EndsAtItsDeadlineWhoeverAsks) {
  Drain(seconds(3));
  Answers last;
  for (int tick = 0; tick < 12 && last.closed.empty(); ++tick) {
    EXPECT_FALSE(target_.core().drained());
    Ask();
    last = Pass(milliseconds(250));
  }
  EXPECT_EQ(last.closed, reasons::kNodeDraining);
  EXPECT_TRUE(target_.core().drained());
}

TEST_F(DrainTest, APeerThatLeavesIsNoNeighbourAndItsTransferEnds) {
  WireFrame graft;
  graft.mutable_graft();
  peer_.Send(graft);
  ASSERT_THAT(target_.core().MeshPeers(), Contains(peer_.key().id()));
  const std::string payload = federation::EncodeSharedPattern(PatternOf(1));
  const Answers running = peer_.Push(peer_.Manifest(federation::ItemKind::kPattern, payload));
  WireFrame goaway;
  goaway.mutable_goaway()->set_reason(reasons::kNodeDraining);
  goaway.mutable_goaway()->set_drain_ms(2000);
  EXPECT_EQ(peer_.Send(goaway).closed, "");
  EXPECT_THAT(target_.core().MeshPeers(), Not(Contains(peer_.key().id())));
  EXPECT_EQ(peer_.Serve(running, payload).accepted.size(), 1U);
  EXPECT_EQ(Pass(seconds(2)).closed, "");
  EXPECT_EQ(Pass(limits::kDrainQuiet).closed, reasons::kNodeDraining);
}

// It used to wait for the backoff of a pruned peer, during which its links ended again and again.
TEST_F(DrainTest, APeerThatLeftIsANeighbourAgainAsSoonAsItIsBack) {
  WireFrame graft;
  graft.mutable_graft();
  peer_.Send(graft);
  WireFrame goaway;
  goaway.mutable_goaway()->set_reason(reasons::kNodeDraining);
  goaway.mutable_goaway()->set_drain_ms(2000);
  peer_.Send(goaway);
  Answers closed;
  closed.Add(target_.core().OnLinkClosed(7, target_.now()));
  ASSERT_THAT(target_.core().MeshPeers(), Not(Contains(peer_.key().id())));
  TestPeer again(target_, 1, 8);
  ASSERT_EQ(again.Dial().closed, "");
  EXPECT_EQ(again.Send(graft).Find(WireFrame::kPrune), nullptr);
  EXPECT_THAT(target_.core().MeshPeers(), Contains(peer_.key().id()));
}

// An item that a node offered a moment before it leaves is not lost.
TEST(DrainInASwarm, TheLastOfferArrives) {
  Swarm swarm({.nodes = 20, .seed = 4, .loss = 0.05});
  swarm.Run(seconds(20));
  constexpr size_t kLeaver = 7;
  swarm.Share(kLeaver);
  auto offered = swarm.core(kLeaver).OfferPattern(PatternOf(1), swarm.now());
  ASSERT_TRUE(offered.ok());
  swarm.Apply(kLeaver, *std::move(offered));
  swarm.Apply(kLeaver, swarm.core(kLeaver).Drain(seconds(10), swarm.now()));
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.core(kLeaver).drained(); }, seconds(11)));
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.Converged(1); }, seconds(30)));
  for (const federation::Member& member : swarm.core(0).Members()) {
    EXPECT_EQ(member.state, member.id == swarm.id(kLeaver) ? federation::MemberState::kLeft
                                                           : federation::MemberState::kAlive);
  }
}

}  // namespace
}  // namespace ruvd::test
