// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests that neighbours tell each other by pings which state they hold, and compare their items at
// once if the states differ, but not at the pleasure of a liar.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "federation/gossip/state_comparison.h"
#include "federation/limits.h"
#include "tests/federation/learner_fixture.h"
#include "tests/federation/swarm.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using federation::StateAgreement;
using federation::StateComparison;
using federation::StateDigest;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr uint64_t kRound = 7;

Digest DigestOf(uint8_t byte) {
  Digest digest;
  digest.fill(byte);
  return digest;
}

StateDigest State(uint64_t round, uint8_t byte) {
  return {.round = round, .digest = DigestOf(byte)};
}

WireFrame PingOf(uint64_t round, std::string digest) {
  WireFrame frame;
  frame.mutable_ping()->set_seq(3);
  frame.mutable_ping()->set_state_round(round);
  frame.mutable_ping()->set_state_digest(std::move(digest));
  return frame;
}

WireFrame PingOf(const StateDigest& state) {
  return PingOf(state.round, std::string(AsText(state.digest)));
}

size_t Openings(const Answers& answers) {
  return static_cast<size_t>(std::ranges::count_if(answers.frames, &WireFrame::has_recon_open));
}

StateAgreement AgreementOf(CoreUnderTest& node, const privacy::NodeId& id) {
  const std::vector<federation::Member> members = node.core().Members();
  const auto member = std::ranges::find(members, id, &federation::Member::id);
  return member == members.end() ? StateAgreement::kUnknown : member->rounds;
}

TEST(StateComparison, OneExchangeForEachStateOfThisNodeAndPeer) {
  StateComparison states;
  const privacy::NodeId a = LearnerNode(1);
  const privacy::NodeId b = LearnerNode(2);
  EXPECT_FALSE(states.OnSaid(a, State(kRound, 1))) << "this node has no state yet";
  states.SetOwn(State(kRound, 1));
  EXPECT_EQ(states.Of(a), StateAgreement::kEqual);
  EXPECT_FALSE(states.OnSaid(a, State(kRound, 1)));
  EXPECT_TRUE(states.OnSaid(a, State(kRound, 2)));
  EXPECT_EQ(states.Of(a), StateAgreement::kDiffers);
  EXPECT_TRUE(states.OnSaid(b, State(kRound, 2)));
  EXPECT_FALSE(states.OnSaid(a, State(kRound, 2)));
  EXPECT_FALSE(states.OnSaid(a, State(kRound, 3))) << "whatever the peer says";
  states.SetOwn(State(kRound, 1));
  EXPECT_FALSE(states.OnSaid(a, State(kRound, 2))) << "that is still the same state";
  states.LinkDown(a);
  EXPECT_EQ(states.Of(a), StateAgreement::kUnknown);
  EXPECT_FALSE(states.OnSaid(a, State(kRound, 2))) << "a new link buys no exchange";
  states.SetOwn(State(kRound, 4));
  EXPECT_TRUE(states.OnSaid(a, State(kRound, 2)));
}

TEST(StateComparison, OnlyStatesOfOneRoundAreCompared) {
  StateComparison states;
  const privacy::NodeId peer = LearnerNode(1);
  states.SetOwn(State(kRound, 1));
  EXPECT_FALSE(states.OnSaid(peer, State(kRound + 1, 2)));
  EXPECT_EQ(states.Of(peer), StateAgreement::kUnknown);
  states.SetOwn(State(kRound + 1, 2));
  EXPECT_EQ(states.Of(peer), StateAgreement::kEqual) << "the peer's clock is ahead";
  states.SetOwn(State(kRound + 2, 3));
  EXPECT_FALSE(states.OnSaid(peer, State(kRound + 1, 2)));
  EXPECT_EQ(states.Of(peer), StateAgreement::kEqual) << "of the newest round that both named";
  EXPECT_FALSE(states.OnSaid(peer, State(kRound + 4, 2)));
  EXPECT_EQ(states.Of(peer), StateAgreement::kUnknown) << "its clock is wrong, or this node's is";
  EXPECT_FALSE(states.OnSaid(peer, State(kRound + 2, 3)));
  EXPECT_FALSE(states.OnSaid(peer, std::nullopt));
  EXPECT_EQ(states.Of(peer), StateAgreement::kUnknown) << "it has no state any more";
}

TEST(StateComparison, ACrowdOfPeersGetsAFewExchanges) {
  StateComparison states;
  states.SetOwn(State(kRound, 1));
  size_t begun = 0;
  for (size_t i = 0; i < limits::kMaxStateExchanges + 50; ++i) {
    begun += states.OnSaid(LearnerNode(i), State(kRound, 2)) ? 1 : 0;
  }
  EXPECT_EQ(begun, limits::kMaxStateExchanges);
}

TEST(StateDigest, PingsNameTheStateThatTheOwnerSet) {
  CoreUnderTest node;
  TestPeer peer(node, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  const auto next_ping = [&] {
    node.Advance(limits::kPingPeriod);
    Answers tick;
    tick.Add(node.core().OnTick(node.now()));
    const WireFrame* ping = tick.Find(WireFrame::kPing);
    return ping == nullptr ? federation::v1::Ping() : ping->ping();
  };
  const federation::v1::Ping without = next_ping();
  EXPECT_GT(without.seq(), 0U);
  EXPECT_EQ(without.state_digest(), "");
  node.core().SetStateDigest(kRound, DigestOf(1));
  const federation::v1::Ping with = next_ping();
  EXPECT_EQ(with.state_round(), kRound);
  EXPECT_EQ(with.state_digest(), AsText(DigestOf(1)));
}

TEST(StateDigest, AnotherStateIsReconciledAtOnceAndOnlyOnce) {
  CoreUnderTest node;
  TestPeer peer(node, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  EXPECT_EQ(Openings(peer.Send(PingOf(State(kRound, 2)))), 0U) << "this node runs no rounds yet";
  node.core().SetStateDigest(kRound, DigestOf(1));
  const uint64_t before = node.core().counters().reconciliations;
  EXPECT_EQ(Openings(peer.Send(PingOf(State(kRound, 1)))), 0U) << "the states are equal";
  const Answers differs = peer.Send(PingOf(State(kRound, 2)));
  ASSERT_EQ(Openings(differs), 1U);
  EXPECT_EQ(differs.Find(WireFrame::kReconOpen)->recon_open().space(),
            federation::v1::RECON_SPACE_ITEMS);
  EXPECT_NE(differs.Find(WireFrame::kAck), nullptr);
  for (uint8_t lie = 2; lie < 100; ++lie) {
    EXPECT_EQ(Openings(peer.Send(PingOf(State(kRound, lie)))), 0U);
    EXPECT_EQ(Openings(peer.Send(PingOf(State(kRound + lie, lie)))), 0U);
  }
  EXPECT_EQ(node.core().counters().reconciliations, before + 1);
  node.core().SetStateDigest(kRound, DigestOf(200));
  EXPECT_EQ(Openings(peer.Send(PingOf(State(kRound, 2)))), 1U) << "this node's state is a new one";
  TestPeer other(node, 2, 8);
  ASSERT_EQ(other.Dial().closed, "");
  EXPECT_EQ(Openings(other.Send(PingOf(State(kRound, 2)))), 1U);
}

TEST(StateDigest, MembersShowWhetherTheirStateAgrees) {
  CoreUnderTest node;
  TestPeer peer(node, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  WireFrame record;
  *record.mutable_member_delta()->add_records() =
      federation::ToProto(CoreUnderTest(1).core().OwnRecord()->envelope);
  peer.Send(record);
  node.core().SetStateDigest(kRound, DigestOf(1));
  EXPECT_EQ(AgreementOf(node, peer.key().id()), StateAgreement::kUnknown);
  peer.Send(PingOf(State(kRound, 2)));
  EXPECT_EQ(AgreementOf(node, peer.key().id()), StateAgreement::kDiffers);
  peer.Send(PingOf(State(kRound, 1)));
  EXPECT_EQ(AgreementOf(node, peer.key().id()), StateAgreement::kEqual);
  EXPECT_EQ(AgreementOf(node, node.key().id()), StateAgreement::kUnknown);
}

TEST(StateDigest, MalformedStatesInPingsAreRefused) {
  const std::string good(32, 'd');
  for (const auto& [round, digest] :
       std::vector<std::pair<uint64_t, std::string>>{{kRound, ""},
                                                     {kRound, std::string(31, 'd')},
                                                     {kRound, std::string(33, 'd')},
                                                     {kRound, std::string(100'000, 'd')},
                                                     {limits::kLastRound + 1, good},
                                                     {UINT64_MAX, good}}) {
    CoreUnderTest node;
    TestPeer peer(node, 1, 7);
    ASSERT_EQ(peer.Dial().closed, "");
    node.core().SetStateDigest(round, DigestOf(1));
    const Answers answers = peer.Send(PingOf(round, digest));
    EXPECT_THAT(answers.refused, ElementsAre(reasons::kEnvelopeMalformed))
        << round << ", " << digest.size() << " bytes";
    EXPECT_EQ(answers.Find(WireFrame::kAck), nullptr);
    EXPECT_EQ(Openings(answers), 0U);
    EXPECT_LT(node.core().ScoreOf(peer.key().id()), 0);
  }
  CoreUnderTest node;
  TestPeer peer(node, 1, 7);
  ASSERT_EQ(peer.Dial().closed, "");
  EXPECT_TRUE(peer.Send(PingOf(limits::kLastRound, good)).refused.empty());
  EXPECT_TRUE(peer.Send(PingOf(0, "")).refused.empty()) << "the sender has no state";
}

TEST(StateDigest, StatesOfOtherPlansAreNotCompared) {
  CoreUnderTest node(0, [](federation::GossipConfig& config) {
    config.plan = std::make_shared<const federation::LearnerPlan>(DeltaPlan());
  });
  TestPeer peer(node, 1, 7, [](federation::LocalNode& local) { local.plan_id = DigestOf(9); });
  ASSERT_EQ(peer.Dial().closed, "");
  node.core().SetStateDigest(kRound, DigestOf(1));
  EXPECT_EQ(Openings(peer.Send(PingOf(State(kRound, 2)))), 0U);
}

// Runs nodes until their anti-entropy is at its long period, then loses all pushes of an item.
// Returns how long others lack it. `differ`: the item changed the state of its sender.
Duration LackOfALostItem(bool differ, uint64_t seed) {
  Swarm swarm({.nodes = 8, .seed = seed});
  for (size_t node = 0; node < swarm.size(); ++node) {
    swarm.core(node).SetStateDigest(kRound, DigestOf(1));
  }
  swarm.Run(seconds(210));  // exchanges are 30 s apart by now, and the last one was a moment ago
  swarm.Share(0);
  swarm.intercept = [](size_t, federation::LinkId, const federation::v1::WireFrame& frame) {
    return frame.has_push();
  };
  swarm.Apply(0, *swarm.core(0).OfferPattern(PatternOf(1), swarm.now()));
  swarm.Run(std::chrono::milliseconds(500));
  swarm.intercept = nullptr;
  if (differ) {
    swarm.core(0).SetStateDigest(kRound, DigestOf(2));
  }
  const TimePoint lost = swarm.now().now;
  EXPECT_TRUE(swarm.RunUntil([&] { return swarm.Converged(1); }, seconds(120)));
  return swarm.now().now - lost;
}

TEST(StateDigest, ANodeWhoseStateDiffersFetchesWhatItLacks) {
  Duration longest{};
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_LT(LackOfALostItem(/*differ=*/true, seed), limits::kPingPeriod + seconds(1));
    longest = std::max(longest, LackOfALostItem(/*differ=*/false, seed));
  }
  EXPECT_GT(longest, limits::kReconPeriod / 2) << "the schedule of anti-entropy finds it later";
}

}  // namespace
}  // namespace ruvd::test
