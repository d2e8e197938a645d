// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a relay, or a node that asks for one, may not do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/federation/far_end.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RelayAbuseTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(relay_.Dial().closed, ""); }
  static std::string CloseReason(const Answers& answers) {
    const WireFrame* close = answers.Find(WireFrame::kRelayClose);
    return close == nullptr ? "" : close->relay_close().reason();
  }
  Answers Open(uint32_t circuit, const privacy::NodeId& source, const privacy::NodeId& target) {
    WireFrame frame;
    frame.mutable_relay_open()->set_circuit(circuit);
    frame.mutable_relay_open()->set_source(Text(source));
    frame.mutable_relay_open()->set_target(Text(target));
    return relay_.Send(frame);
  }

  CoreUnderTest target_;
  TestPeer relay_{target_, 1, 7, CarryCircuits};
  const privacy::NodeId stranger_ = privacy::NodeKey::FromSeed(SeedOf(9)).id();
};

// Found by review: a relay does not know at once that a circuit ended. Frames that were under way
// then counted as a flood by the relay.
TEST_F(RelayAbuseTest, FramesOfACircuitThatEndedAreNoFloodOfTheRelay) {
  FarEnd far(target_, relay_, 5, 1);
  ASSERT_EQ(far.Open(far.key().id()).closed, "");
  WireFrame close;
  close.mutable_relay_close()->set_circuit(1);
  ASSERT_EQ(relay_.Send(close).closed, "");
  WireFrame stray;
  stray.mutable_relay_frame()->set_circuit(1);
  stray.mutable_relay_frame()->set_sealed("x");
  const double score = target_.core().ScoreOf(relay_.key().id());
  for (double sent = 0; sent < limits::kFrameBurst + 1; ++sent) {
    ASSERT_EQ(relay_.Send(stray).closed, "") << sent;
  }
  EXPECT_EQ(target_.core().ScoreOf(relay_.key().id()), score);
  // Frames of a circuit that never existed do count.
  stray.mutable_relay_frame()->set_circuit(99);
  std::string closed;
  for (double sent = 0; sent < limits::kFrameBurst + 1 && closed.empty(); ++sent) {
    closed = relay_.Send(stray).closed;
  }
  EXPECT_EQ(closed, reasons::kLimitExceeded);
}

TEST_F(RelayAbuseTest, AnHonestOneBringsALink) {
  FarEnd far(target_, relay_, 2, 1);
  EXPECT_EQ(CloseReason(far.Open(far.key().id())), "");
  const Answers opened = far.Dial();
  EXPECT_EQ(CloseReason(opened), "");
  EXPECT_THAT(opened.refused, IsEmpty());
  EXPECT_EQ(target_.core().active_links(), 2U);
  EXPECT_EQ(target_.core().RelayTo(far.key().id()), relay_.key().id());
}

TEST_F(RelayAbuseTest, ARelayCannotBeWhoItCarries) {
  // The far end uses its own key and certificate, but the name of another member.
  FarEnd itself(target_, relay_, 1, 1);
  itself.Open(stranger_);
  const Answers answers = itself.Dial();
  EXPECT_EQ(CloseReason(answers), reasons::kRelayBroken);
  EXPECT_THAT(answers.refused, ElementsAre(reasons::kRelayBroken));
  // The far end uses the other member's certificate, which every member has.
  FarEnd thief(target_, relay_, 1, 3);
  thief.local().certificate = CertificateFor(privacy::NodeKey::FromSeed(SeedOf(9)), "node-9");
  thief.Open(stranger_);
  EXPECT_THAT(thief.Dial().refused, ElementsAre(reasons::kSignatureInvalid));
  EXPECT_EQ(target_.core().active_links(), 1U);
  EXPECT_EQ(target_.core().ScoreOf(stranger_), 0);
}

// An attacker with direct links to both ends cannot join them into one relayed link.
TEST_F(RelayAbuseTest, ProofsOfADirectLinkAreOfNoUseOnARelayedOne) {
  FarEnd far(target_, relay_, 2, 1);
  far.Open(far.key().id());
  EXPECT_THAT(far.Dial(federation::LinkChannel()).refused, ElementsAre(reasons::kSignatureInvalid));
  EXPECT_EQ(target_.core().active_links(), 1U);
}

TEST_F(RelayAbuseTest, WhatRunsThroughARelayCarriesNothingForOthers) {
  FarEnd far(target_, relay_, 2, 1);
  far.Open(far.key().id());
  far.Dial();
  ASSERT_EQ(target_.core().active_links(), 2U);
  WireFrame frame;
  frame.mutable_relay_open()->set_circuit(1);
  frame.mutable_relay_open()->set_source(Text(far.key().id()));
  frame.mutable_relay_open()->set_target(Text(relay_.key().id()));
  EXPECT_THAT(far.Send(frame).refused, ElementsAre(reasons::kEnvelopeMalformed));
  // A circuit cannot go on over such a link either.
  EXPECT_EQ(CloseReason(Open(3, relay_.key().id(), far.key().id())), reasons::kNoRelay);
  EXPECT_EQ(target_.core().circuits(), 0U);
}

TEST_F(RelayAbuseTest, ACircuitHasTwoEndsAndANumberOfItsSender) {
  const privacy::NodeId own = target_.key().id();
  for (const Answers& answers :
       {Open(2, stranger_, own), Open(0, stranger_, own), Open(1, own, own),
        Open(1, own, stranger_), Open(1, stranger_, stranger_),
        Open(1, stranger_, privacy::NodeKey::FromSeed(SeedOf(8)).id())}) {
    EXPECT_THAT(answers.refused, ElementsAre(reasons::kEnvelopeMalformed));
  }
  EXPECT_LT(target_.core().ScoreOf(relay_.key().id()), 0);
}

TEST_F(RelayAbuseTest, ACopyOfAnOpeningBeginsNothing) {
  EXPECT_EQ(CloseReason(Open(1, relay_.key().id(), stranger_)), reasons::kNoRelay);
  const uint64_t before = target_.core().counters().duplicates;
  EXPECT_THAT(Open(1, relay_.key().id(), stranger_).frames, IsEmpty());
  EXPECT_EQ(target_.core().counters().duplicates, before + 1);
}

TEST_F(RelayAbuseTest, CircuitsPerSecondAndThroughOneRelayAreLimited) {
  uint32_t circuit = 1;
  std::vector<std::unique_ptr<FarEnd>> ends;
  for (uint64_t number = 20; number < 20 + limits::kMaxRelayedLinksOfRelay; ++number) {
    ends.push_back(std::make_unique<FarEnd>(target_, relay_, number, circuit));
    EXPECT_EQ(CloseReason(ends.back()->Open(ends.back()->key().id())), "");
    circuit += 2;
  }
  EXPECT_EQ(CloseReason(Open(circuit, stranger_, target_.key().id())), reasons::kLimitExceeded);
  circuit += 2;
  size_t more = 0;
  while (CloseReason(Open(circuit, relay_.key().id(), stranger_)) == reasons::kNoRelay) {
    circuit += 2;
    ++more;
    ASSERT_LE(more, limits::kCircuitBurst);
  }
  EXPECT_EQ(CloseReason(Open(circuit + 2, relay_.key().id(), stranger_)), reasons::kLimitExceeded);
  EXPECT_EQ(more, static_cast<size_t>(limits::kCircuitBurst));
  // The relay is not blamed for these: another node may have asked.
  EXPECT_EQ(target_.core().ScoreOf(relay_.key().id()), 0);
}

// Found by review: a member that opened and closed circuits to a node as fast as the relay let it
// kept all others from reaching that node through the relay.
TEST_F(RelayAbuseTest, OneMemberCannotUseUpARelaysOpeningsToANode) {
  uint32_t circuit = 1;
  size_t taken = 0;
  for (int opening = 0; opening < 2 * static_cast<int>(limits::kCircuitBurst); ++opening) {
    taken += CloseReason(Open(circuit, stranger_, target_.key().id())).empty() ? 1 : 0;
    WireFrame close;
    close.mutable_relay_close()->set_circuit(circuit);
    relay_.Send(close);
    circuit += 2;
  }
  EXPECT_GT(taken, 1U);
  for (uint64_t number = 2; number < 5; ++number) {
    FarEnd other(target_, relay_, number, circuit);
    EXPECT_EQ(CloseReason(other.Open(other.key().id())), "") << number;
    circuit += 2;
  }
  // It cannot do so with the circuits that the relay itself opens through the node either.
  while (CloseReason(Open(circuit, relay_.key().id(), stranger_)) == reasons::kNoRelay) {
    circuit += 2;
  }
  circuit += 2;
  FarEnd last(target_, relay_, 5, circuit);
  EXPECT_EQ(CloseReason(last.Open(last.key().id())), "");
}

TEST_F(RelayAbuseTest, AHandshakeThatNobodyEndsIsForgotten) {
  FarEnd far(target_, relay_, 2, 1);
  far.Open(far.key().id());
  target_.Advance(limits::kHandshakeTimeout + std::chrono::milliseconds(1));
  Answers answers;
  answers.Add(target_.core().OnTick(target_.now()));
  EXPECT_EQ(CloseReason(answers), reasons::kDeadlineExceeded);
  EXPECT_EQ(answers.closed, "") << "no link of the owner's";
}

TEST_F(RelayAbuseTest, WhatAMemberSendsThroughARelayCountsAgainstIt) {
  FarEnd far(target_, relay_, 2, 1);
  far.Open(far.key().id());
  far.Dial();
  WireFrame frame;
  frame.mutable_member_want()->add_ids("short");
  EXPECT_THAT(far.Send(frame).refused, ElementsAre(reasons::kEnvelopeMalformed));
  EXPECT_LT(target_.core().ScoreOf(far.key().id()), 0);
  EXPECT_EQ(target_.core().ScoreOf(relay_.key().id()), 0);
}

}  // namespace
}  // namespace ruvd::test
