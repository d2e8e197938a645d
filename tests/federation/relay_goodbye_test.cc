// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// How links through relays end without a fault of either end or of the relay.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

class RelayGoodbyeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(relay_.Dial().closed, "");
    far_.Open(far_.key().id());
  }
  // Passes the next frame to the core unsealed.
  Answers SendUnsealed(const WireFrame& frame) {
    WireFrame wrapped = far_.Wrap(frame);
    wrapped.mutable_relay_frame()->set_opening(frame.SerializeAsString());
    return relay_.Send(wrapped);
  }
  static WireFrame Goaway() {
    WireFrame frame;
    frame.mutable_goaway()->set_reason(reasons::kDeadlineExceeded);
    frame.mutable_goaway()->set_message("link was not opened in time");
    return frame;
  }
  static WireFrame Ping() {
    WireFrame frame;
    frame.mutable_ping()->set_seq(1);
    return frame;
  }

  CoreUnderTest target_;
  TestPeer relay_{target_, 1, 7, CarryCircuits};
  FarEnd far_{target_, relay_, 2, 1};
};

// Found by review: an end that gives up before the last frame of the handshake came says so without
// a seal, to an end that has the keys. That end took it for a forgery by the relay.
TEST_F(RelayGoodbyeTest, OneThatCrossesTheHandshakeIsNotLaidToTheRelay) {
  far_.Dial();
  ASSERT_EQ(target_.core().relayed_links(), 1U);
  WireFrame goaway = Goaway();
  goaway.mutable_goaway()->set_drain_ms(5000);  // what only a seal could say
  const Answers answers = SendUnsealed(goaway);
  EXPECT_THAT(answers.refused, IsEmpty());
  EXPECT_EQ(target_.core().relayed_links(), 0U);
  EXPECT_NE(answers.Find(WireFrame::kRelayClose), nullptr);
}

TEST_F(RelayGoodbyeTest, NothingElseUnsealedCrossesTheHandshake) {
  far_.Dial();
  ASSERT_EQ(target_.core().relayed_links(), 1U);
  EXPECT_THAT(SendUnsealed(Ping()).refused, ElementsAre(reasons::kRelayBroken));
}

TEST_F(RelayGoodbyeTest, AnEndThatSealedSomethingSealsItsGoodbye) {
  far_.Dial();
  EXPECT_THAT(far_.Send(Ping()).refused, IsEmpty());
  EXPECT_THAT(SendUnsealed(Goaway()).refused, ElementsAre(reasons::kRelayBroken));
}

// Checks what the far end receives from a core that leaves: its record, then the end of the link,
// both before the link to the relay is gone.
void ExpectGoodbye(FarEnd& far, const Answers& answers) {
  const auto carrier_ends = std::ranges::find_if(
      answers.frames, [](const WireFrame& frame) { return frame.has_goaway(); });
  ASSERT_NE(carrier_ends, answers.frames.end());
  Answers before;
  before.frames.assign(answers.frames.begin(), carrier_ends);
  const std::vector<WireFrame> heard = far.Read(before);
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard.back().goaway().reason(), reasons::kNodeDraining);
  EXPECT_NE(before.Find(WireFrame::kRelayClose), nullptr);
}

// Found by review: the links to relays were closed first, so that nothing went through them.
TEST_F(RelayGoodbyeTest, ANodeThatLeavesSaysSoThroughRelays) {
  far_.Read(far_.Dial());
  Answers answers;
  answers.Add(target_.core().Leave(target_.now()));
  ExpectGoodbye(far_, answers);
  EXPECT_TRUE(target_.core().drained());
}

TEST_F(RelayGoodbyeTest, ANodeThatDrainedSaysSoThroughRelays) {
  far_.Read(far_.Dial());
  Answers draining;
  draining.Add(target_.core().Drain(limits::kDrainMax, target_.now()));
  const std::vector<WireFrame> told = far_.Read(draining);
  ASSERT_FALSE(told.empty());
  EXPECT_GT(told.back().goaway().drain_ms(), 0U);
  target_.Advance(limits::kDrainQuiet);
  Answers answers;
  answers.Add(target_.core().OnTick(target_.now()));
  ExpectGoodbye(far_, answers);
  EXPECT_TRUE(target_.core().drained());
}

TEST_F(RelayGoodbyeTest, ANodeWithoutTimeToDrainSaysSoThroughRelays) {
  far_.Read(far_.Dial());
  Answers answers;
  answers.Add(target_.core().Drain(Duration(0), target_.now()));
  ExpectGoodbye(far_, answers);
  EXPECT_TRUE(target_.core().drained());
}

}  // namespace
}  // namespace ruvd::test
