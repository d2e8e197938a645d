// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a node carries for others stays within its limits; tests as well which nodes it asks itself.

#include "federation/relay/circuit_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/relay/relay_planner.h"
#include "ruvd/federation/v1/federation.pb.h"

namespace ruvd::federation {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using v1::RelayFrame;

privacy::NodeId IdOf(uint32_t number) {
  privacy::NodeId id{};
  id[0] = static_cast<uint8_t>(number);
  id[1] = static_cast<uint8_t>(number >> 8);
  return id;
}

class CircuitTableTest : public testing::Test {
 protected:
  absl::Status Open(CircuitEnd from, CircuitEnd to, uint32_t source, uint32_t target) {
    return table_.Open(from, IdOf(source), to, IdOf(target), now_);
  }
  absl::Status Forward(CircuitEnd from, size_t bytes) {
    RelayFrame frame;
    frame.set_circuit(from.circuit);
    frame.set_seq(seq_++);
    frame.set_sealed(std::string(bytes, 'x'));
    return table_.Forward(from, frame, now_);
  }
  // The target of the circuit from {1, 1} to {2, 1} reads as fast as possible.
  void ReceiveAll() {
    for (uint64_t received = 1; table_.Carries({2, 1}) && received <= seq_; ++received) {
      table_.Acknowledge({2, 1}, received, now_);
    }
  }
  // Returns the bytes of content that went to a link since the last call.
  size_t Sent(LinkId link) {
    size_t bytes = 0;
    for (const Action& action : outbox_.Take()) {
      const auto& send = std::get<SendFrame>(action);
      bytes += send.link == link ? send.frame->relay_frame().sealed().size() : 0;
    }
    return bytes;
  }

  TimePoint now_{};
  Outbox outbox_;
  CircuitTable table_{outbox_, now_};
  uint64_t seq_ = 0;
};

TEST_F(CircuitTableTest, PassesFramesOnUnderTheNumberOfTheOtherLink) {
  ASSERT_TRUE(Open({1, 5}, {2, 8}, 1, 2).ok());
  ASSERT_TRUE(Forward({1, 5}, 10).ok());
  ASSERT_TRUE(Forward({2, 8}, 20).ok());
  const Actions actions = outbox_.Take();
  ASSERT_EQ(actions.size(), 2U);
  const auto& there = std::get<SendFrame>(actions[0]);
  EXPECT_EQ(there.link, 2U);
  EXPECT_EQ(there.frame->relay_frame().circuit(), 8U);
  EXPECT_EQ(there.frame->relay_frame().seq(), 0U);
  EXPECT_EQ(there.frame->relay_frame().sealed(), std::string(10, 'x'));
  const auto& back = std::get<SendFrame>(actions[1]);
  EXPECT_EQ(back.link, 1U);
  EXPECT_EQ(back.frame->relay_frame().circuit(), 5U);
}

TEST_F(CircuitTableTest, WhatItDoesNotKnowOfAFrameIsNotPassedOn) {
  ASSERT_TRUE(Open({1, 5}, {2, 8}, 1, 2).ok());
  RelayFrame frame;
  ASSERT_TRUE(frame.ParseFromString(std::string("\x08\x05\x22\x01x\xfa\x3e\x03zzz", 11)));
  ASSERT_EQ(frame.sealed(), "x");
  ASSERT_GT(frame.ByteSizeLong(), 6U) << "the unknown field is there";
  ASSERT_TRUE(table_.Forward({1, 5}, frame, now_).ok());
  const Actions actions = outbox_.Take();
  EXPECT_EQ(std::get<SendFrame>(actions.at(0)).frame->relay_frame().ByteSizeLong(), 5U);
}

// Found by review: the number of the other link may take more bytes. The receiver of such a frame
// then ended its link to the relay.
TEST_F(CircuitTableTest, AFrameThatItsNumberMakesTooLargeIsNotPassedOn) {
  ASSERT_TRUE(Open({1, 5}, {2, 300}, 1, 2).ok());
  v1::WireFrame frame;
  RelayFrame* const relayed = frame.mutable_relay_frame();
  relayed->set_circuit(5);
  relayed->set_sealed(std::string(limits::kMaxFrameBytes, 'x'));
  relayed->mutable_sealed()->resize(2 * limits::kMaxFrameBytes - frame.ByteSizeLong());
  ASSERT_EQ(frame.ByteSizeLong(), limits::kMaxFrameBytes);
  EXPECT_EQ(ReasonOf(table_.Forward({1, 5}, *relayed, now_)), reasons::kLimitExceeded);
  EXPECT_THAT(outbox_.Take(), IsEmpty());
  relayed->mutable_sealed()->pop_back();
  relayed->set_seq(1);
  relayed->mutable_sealed()->resize(relayed->sealed().size() - 3);
  EXPECT_TRUE(table_.Forward({1, 5}, *relayed, now_).ok());
  EXPECT_EQ(outbox_.Take().size(), 1U);
}

// Found by review: the end counts such a frame once, so that half of it counted as under way for
// ever.
TEST_F(CircuitTableTest, AFrameThatComesTwiceIsPassedOnOnce) {
  ASSERT_TRUE(Open({1, 1}, {2, 1}, 1, 2).ok());
  for (uint64_t seq = 0; seq < 200; ++seq) {
    RelayFrame frame;
    frame.set_seq(seq);
    frame.set_sealed("x");
    ASSERT_TRUE(table_.Forward({1, 1}, frame, now_).ok());
    ASSERT_TRUE(table_.Forward({1, 1}, frame, now_).ok());
    EXPECT_EQ(outbox_.Take().size(), 1U) << seq;
    table_.Acknowledge({2, 1}, seq + 1, now_);
  }
}

TEST_F(CircuitTableTest, LimitsCircuitsOfALinkAndOfTheNode) {
  for (uint32_t i = 1; i <= limits::kMaxCircuitsOfLink; ++i) {
    ASSERT_TRUE(Open({1, i}, {1 + i, 1}, 1, 1 + i).ok());
  }
  EXPECT_EQ(ReasonOf(Open({1, 99}, {99, 1}, 1, 99)), reasons::kLimitExceeded);
  EXPECT_EQ(ReasonOf(Open({99, 1}, {1, 99}, 99, 1)), reasons::kLimitExceeded);
  uint32_t next = 1000;
  while (table_.size() < limits::kMaxCircuits) {
    ASSERT_TRUE(Open({next, 1}, {next + 1, 1}, next, next + 1).ok());
    next += 2;
  }
  EXPECT_EQ(ReasonOf(Open({next, 1}, {next + 1, 1}, next, next + 1)), reasons::kLimitExceeded);
  EXPECT_EQ(table_.size(), limits::kMaxCircuits);
}

TEST_F(CircuitTableTest, OneCircuitForASourceAndItsTarget) {
  ASSERT_TRUE(Open({1, 1}, {2, 1}, 1, 2).ok());
  EXPECT_EQ(ReasonOf(Open({1, 3}, {2, 3}, 1, 2)), reasons::kDuplicateLink);
  EXPECT_TRUE(Open({2, 5}, {1, 5}, 2, 1).ok()) << "both ends may begin at once";
}

TEST_F(CircuitTableTest, WhatIsBeyondTheRateWaitsAndThenTheCircuitEnds) {
  ASSERT_TRUE(Open({1, 1}, {2, 1}, 1, 2).ok());
  constexpr size_t kFrame = 64 << 10;
  size_t given = 0;
  while (Forward({1, 1}, kFrame).ok()) {
    given += kFrame;
    ReceiveAll();
    ASSERT_LE(table_.queued_bytes(), limits::kMaxCircuitQueueBytes);
  }
  EXPECT_EQ(given, static_cast<size_t>(limits::kCircuitByteBurst) + limits::kMaxCircuitQueueBytes);
  EXPECT_EQ(Sent(2), static_cast<size_t>(limits::kCircuitByteBurst));
  now_ += milliseconds(500);
  table_.Tick(now_);
  ReceiveAll();
  EXPECT_EQ(Sent(2), static_cast<size_t>(limits::kCircuitBytesPerSecond) / 2);
  EXPECT_EQ(table_.queued_bytes(), limits::kMaxCircuitQueueBytes / 2);
  table_.Close({1, 1});
  EXPECT_EQ(table_.queued_bytes(), 0U);
}

// Circuits must not fill the link to a slow member.
TEST_F(CircuitTableTest, AnEndThatTakesNothingHasAWindowUnderWay) {
  ASSERT_TRUE(Open({1, 1}, {2, 1}, 1, 2).ok());
  constexpr size_t kFrame = 64 << 10;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(Forward({1, 1}, kFrame).ok());
  }
  now_ += std::chrono::seconds(10);
  table_.Tick(now_);
  EXPECT_EQ(Sent(2), limits::kRelayWindowBytes);
  table_.Acknowledge({2, 1}, 2, now_);
  EXPECT_EQ(Sent(2), 2 * kFrame);
  // A frame that was not sent cannot have arrived, and no frame can arrive twice.
  for (const uint64_t wrong : {uint64_t{0}, uint64_t{2}, uint64_t{6}, UINT64_MAX}) {
    EXPECT_FALSE(table_.Acknowledges({2, 1}, wrong)) << wrong;
    table_.Acknowledge({2, 1}, wrong, now_);
    EXPECT_EQ(Sent(2), 0U);
  }
  EXPECT_FALSE(table_.Acknowledges({1, 1}, 1)) << "that is the other direction";
  EXPECT_FALSE(table_.Acknowledges({5, 1}, 1));
}

TEST_F(CircuitTableTest, FramesWaitBehindThoseThatCameBefore) {
  ASSERT_TRUE(Open({1, 1}, {2, 1}, 1, 2).ok());
  while (table_.queued_bytes() == 0) {
    ASSERT_TRUE(Forward({1, 1}, (128 << 10) - 64).ok());
  }
  const uint64_t waiting = seq_ - 1;
  ASSERT_TRUE(Forward({1, 1}, 1).ok()) << "for which there is room";
  EXPECT_EQ(outbox_.Take().size(), 1U);
  table_.Acknowledge({2, 1}, 1, now_);
  const Actions actions = outbox_.Take();
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(std::get<SendFrame>(actions[0]).frame->relay_frame().seq(), waiting);
}

TEST_F(CircuitTableTest, ManySmallFramesCountAsMuchAsTheyCost) {
  ASSERT_TRUE(Open({1, 1}, {2, 1}, 1, 2).ok());
  size_t frames = 0;
  while (Forward({1, 1}, 1).ok()) {
    ++frames;
  }
  EXPECT_EQ(frames,
            (limits::kRelayWindowBytes + limits::kMaxCircuitQueueBytes) / limits::kMinRelayedBytes);
}

TEST_F(CircuitTableTest, AllCircuitsTogetherStayWithinTheRateAndMemoryOfTheNode) {
  for (uint32_t i = 1; i <= limits::kMaxCircuits; ++i) {
    ASSERT_TRUE(Open({2 * i, 1}, {2 * i + 1, 1}, 2 * i, 2 * i + 1).ok());
  }
  for (uint32_t i = 1; i <= limits::kMaxCircuits; ++i) {
    while (Forward({2 * i, 1}, limits::kRelayWindowBytes / 2).ok()) {
    }
    ASSERT_LE(table_.queued_bytes(), limits::kMaxRelayQueueBytes);
  }
  const auto burst = static_cast<uint64_t>(limits::kRelayByteBurst);
  EXPECT_LE(outbox_.counters().circuit_bytes_carried, burst);
  EXPECT_GT(outbox_.counters().circuit_bytes_carried, burst - limits::kRelayWindowBytes);
}

TEST_F(CircuitTableTest, ALinkThatIsGoneTakesItsCircuitsWithIt) {
  ASSERT_TRUE(Open({1, 1}, {2, 1}, 1, 2).ok());
  ASSERT_TRUE(Open({3, 1}, {1, 2}, 3, 1).ok());
  ASSERT_TRUE(Open({3, 3}, {2, 3}, 3, 2).ok());
  EXPECT_THAT(table_.LinkDown(1), ElementsAre(CircuitEnd{2, 1}, CircuitEnd{3, 1}));
  EXPECT_EQ(table_.size(), 1U);
  EXPECT_THAT(table_.links(), ElementsAre(2U, 3U));
}

TEST_F(CircuitTableTest, ACircuitThatNobodyUsesEnds) {
  ASSERT_TRUE(Open({1, 1}, {2, 1}, 1, 2).ok());
  ASSERT_TRUE(Open({1, 3}, {3, 1}, 1, 3).ok());
  now_ += limits::kIdleCircuit;
  ASSERT_TRUE(Forward({3, 1}, 1).ok());
  now_ += milliseconds(1);
  EXPECT_THAT(table_.Tick(now_), ElementsAre(CircuitEnd{1, 1}, CircuitEnd{2, 1}));
  EXPECT_FALSE(table_.Carries({1, 1}));
  EXPECT_TRUE(table_.Carries({1, 3}));
}

class RelayPlannerTest : public testing::Test {
 protected:
  std::optional<privacy::NodeId> Next() { return planner_.Next(target_, relays_, now_, random_); }
  void Ended(const privacy::NodeId& relay, RelayPlanner::End end) {
    planner_.OnEnded(target_, relay, end, now_);
  }

  const privacy::NodeId target_ = IdOf(100);
  std::vector<privacy::NodeId> relays_ = {IdOf(1), IdOf(2), IdOf(3)};
  TimePoint now_{};
  Random random_{1};
  RelayPlanner planner_;
};

TEST_F(RelayPlannerTest, AsksOneAfterTheOtherThenPauses) {
  std::set<privacy::NodeId> asked;
  ASSERT_TRUE(planner_.Begin(target_, DialPurpose::kMesh, now_));
  while (const auto relay = Next()) {
    EXPECT_TRUE(asked.insert(*relay).second);
    EXPECT_FALSE(planner_.Begin(target_, DialPurpose::kMesh, now_)) << "under way";
    EXPECT_THAT(planner_.Due(), IsEmpty());
    Ended(*relay, RelayPlanner::End::kRefused);
    EXPECT_THAT(planner_.Due(), ElementsAre(target_));
  }
  EXPECT_EQ(asked.size(), relays_.size());
  EXPECT_FALSE(planner_.Begin(target_, DialPurpose::kMesh, now_)) << "pauses";
  EXPECT_TRUE(planner_.Begin(target_, DialPurpose::kMesh, now_ + limits::kBackoffMax));
}

TEST_F(RelayPlannerTest, ManyNeighboursAreNotAllAsked) {
  for (uint32_t i = 4; i < 60; ++i) {
    relays_.push_back(IdOf(i));
  }
  ASSERT_TRUE(planner_.Begin(target_, DialPurpose::kMesh, now_));
  size_t asked = 0;
  while (const auto relay = Next()) {
    ++asked;
    Ended(*relay, RelayPlanner::End::kRefused);
  }
  EXPECT_EQ(asked, limits::kMaxRelaysAsked);
}

TEST_F(RelayPlannerTest, ARelayThatLostWhatItCarriedIsAskedLast) {
  planner_.Distrust(IdOf(2), now_);
  for (uint32_t member = 200; member < 220; ++member) {
    ASSERT_TRUE(planner_.Begin(IdOf(member), DialPurpose::kMesh, now_));
    EXPECT_NE(planner_.Next(IdOf(member), relays_, now_, random_), IdOf(2));
    planner_.OnOpened(IdOf(member));
  }
  relays_ = {IdOf(2)};
  ASSERT_TRUE(planner_.Begin(target_, DialPurpose::kMesh, now_));
  EXPECT_EQ(Next(), IdOf(2)) << "there is no other";
}

TEST_F(RelayPlannerTest, SearchesAtOnceAndHistoryAreBounded) {
  for (uint32_t i = 0; i < limits::kMaxRelaySearches; ++i) {
    ASSERT_TRUE(planner_.Begin(IdOf(i), DialPurpose::kCheck, now_));
  }
  EXPECT_EQ(planner_.Searching(DialPurpose::kCheck), limits::kMaxRelaySearches);
  EXPECT_EQ(planner_.Searching(DialPurpose::kMesh), 0U);
  EXPECT_FALSE(planner_.Begin(target_, DialPurpose::kMesh, now_));
  planner_.OnOpened(IdOf(0));
  EXPECT_TRUE(planner_.Begin(target_, DialPurpose::kMesh, now_));
  EXPECT_EQ(planner_.OnOpened(target_), DialPurpose::kMesh);
}

TEST_F(RelayPlannerTest, AnOpenLinkEndsTheSearch) {
  ASSERT_TRUE(planner_.Begin(target_, DialPurpose::kExchange, now_));
  const privacy::NodeId relay = *Next();
  EXPECT_EQ(planner_.OnOpened(target_), DialPurpose::kExchange);
  Ended(relay, RelayPlanner::End::kClosed);
  EXPECT_THAT(planner_.Due(), IsEmpty());
}

}  // namespace
}  // namespace ruvd::federation
