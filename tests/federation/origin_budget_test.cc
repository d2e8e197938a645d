// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What one member may have others fetch, and what a peer may have this node send.

#include "federation/gossip/origin_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "federation/gossip/chunk_service.h"
#include "federation/reasons.h"
#include "tests/federation/learner_fixture.h"
#include "tests/federation/test_peer.h"

namespace ruvd::test {
namespace {

using federation::ChunkService;
using federation::ItemKind;
using federation::OriginBudget;
using std::chrono::seconds;
using testing::IsEmpty;

privacy::NodeId NodeOf(uint64_t number) {
  privacy::NodeId id{};
  std::memcpy(id.data(), &number, sizeof(number));
  return id;
}

size_t TakenOf(OriginBudget& budget, uint64_t origin, ItemKind kind, uint64_t bytes, size_t asked,
               TimePoint now) {
  size_t taken = 0;
  for (size_t i = 0; i < asked && budget.Allows(NodeOf(origin), kind, bytes, now); ++i) {
    budget.Charge(NodeOf(origin), kind, bytes, now);
    ++taken;
  }
  return taken;
}

TEST(OriginBudget, AllowsWhatANewcomerFetchesAndThenAPace) {
  OriginBudget budget(nullptr, limits::kMaxMaskItemsPerOrigin);
  EXPECT_EQ(TakenOf(budget, 1, ItemKind::kPattern, 6000, 5000, TimePoint{}),
            2 * limits::kMaxPatternsPerOrigin);
  EXPECT_EQ(TakenOf(budget, 1, ItemKind::kPattern, 6000, 5000, TimePoint{} + seconds(20)), 10U);
  // Other kinds and other members have budgets of their own.
  EXPECT_TRUE(budget.Allows(NodeOf(1), ItemKind::kWithdrawal, 100, TimePoint{} + seconds(20)));
  EXPECT_EQ(TakenOf(budget, 2, ItemKind::kPattern, 6000, 5000, TimePoint{} + seconds(20)),
            2 * limits::kMaxPatternsPerOrigin);
}

TEST(OriginBudget, CountsBytesOfAllKindsTogether) {
  OriginBudget budget(nullptr, limits::kMaxMaskItemsPerOrigin);
  const uint64_t large = limits::kMaxPayloadBytes;
  const auto most = static_cast<size_t>(limits::kOriginByteBurst) / large;
  const size_t patterns = TakenOf(budget, 1, ItemKind::kPattern, large, 500, TimePoint{});
  EXPECT_EQ(patterns, most);
  EXPECT_FALSE(budget.Allows(NodeOf(1), ItemKind::kExpert, large, TimePoint{}));
  EXPECT_TRUE(budget.Allows(NodeOf(1), ItemKind::kWithdrawal, 4096, TimePoint{}));
  // What is not allowed for its bytes takes no item from the budget.
  EXPECT_EQ(TakenOf(budget, 1, ItemKind::kPattern, 0, 5000, TimePoint{}),
            2 * limits::kMaxPatternsPerOrigin - patterns);
  EXPECT_GT(budget.put_off_bytes(), 0U);
  EXPECT_GT(budget.put_off_items(), 0U);
}

TEST(OriginBudget, FollowsTheRoundsOfThePlan) {
  federation::LearnerPlan plan = DeltaPlan();
  for (const int64_t round_ms : {1'000, 600'000}) {
    plan.round_ms = round_ms;
    OriginBudget budget(&plan, limits::kMaxLearnerMaskItemsPerOrigin);
    TakenOf(budget, 1, ItemKind::kContribution, 100, 5000, TimePoint{});
    EXPECT_EQ(TakenOf(budget, 1, ItemKind::kContribution, 100, 5000,
                      TimePoint{} + 10 * std::chrono::milliseconds(round_ms)),
              20U)
        << round_ms;
  }
}

TEST(OriginBudget, OwesWhatSeveralTransfersTookTogether) {
  OriginBudget budget(nullptr, limits::kMaxMaskItemsPerOrigin);
  for (size_t i = 0; i < 2 * limits::kMaxPatternsPerOrigin + 10; ++i) {
    budget.Charge(NodeOf(1), ItemKind::kPattern, 1, TimePoint{});
  }
  EXPECT_FALSE(budget.Allows(NodeOf(1), ItemKind::kPattern, 1, TimePoint{} + seconds(20)));
  EXPECT_TRUE(budget.Allows(NodeOf(1), ItemKind::kPattern, 1, TimePoint{} + seconds(23)));
}

TEST(OriginBudget, IsBounded) {
  OriginBudget budget(nullptr, limits::kMaxMaskItemsPerOrigin);
  for (uint64_t i = 0; i < limits::kMaxOriginBudgets + 100; ++i) {
    EXPECT_TRUE(budget.Allows(NodeOf(i), ItemKind::kPattern, 1, TimePoint{} + seconds(i)));
  }
  EXPECT_EQ(budget.size(), limits::kMaxOriginBudgets);
}

TEST(ChunkService, LimitsEachLinkAndAllTogether) {
  ChunkService service;
  const size_t chunks = limits::kMaxChunkRequestsWaiting;
  for (federation::LinkId link = 1; link <= 8; ++link) {
    for (uint32_t i = 0; i < chunks; ++i) {
      ASSERT_TRUE(
          service.Add({.link = link, .index = i, .bytes = limits::kChunkBytes}, TimePoint{}));
    }
    EXPECT_FALSE(service.Add({.link = link, .index = 9999, .bytes = 1}, TimePoint{}));
  }
  std::map<federation::LinkId, std::vector<uint32_t>> sent;
  for (const ChunkService::Request& request : service.TakeDue(TimePoint{})) {
    sent[request.link].push_back(request.index);
  }
  EXPECT_EQ(sent.size(), 8U);
  size_t all = 0;
  for (const auto& [link, indexes] : sent) {
    EXPECT_TRUE(std::ranges::is_sorted(indexes));
    EXPECT_LE(indexes.size() * limits::kChunkBytes, limits::kServedBytesPerSecondOfPeer);
    EXPECT_GE(indexes.size() * limits::kChunkBytes, limits::kServedBytesPerSecond / 16);
    all += indexes.size();
  }
  EXPECT_EQ(all * limits::kChunkBytes, static_cast<size_t>(limits::kServedBytesPerSecond));
  EXPECT_THAT(service.TakeDue(TimePoint{}), IsEmpty());
  EXPECT_EQ(service.delayed() + service.delayed_of_link(), 8 * chunks - all);
  EXPECT_GT(service.delayed(), 0U);
  size_t later = 0;
  for (int i = 1; i <= 100 && service.waiting() > 0; ++i) {
    later += service.TakeDue(TimePoint{} + seconds(i)).size();
  }
  EXPECT_EQ(all + later, 8 * chunks);
  EXPECT_EQ(service.delayed() + service.delayed_of_link(), 8 * chunks - all)
      << "each request waits once";
}

TEST(ChunkService, ARequestThatIsRepeatedIsAnsweredOnce) {
  ChunkService service;
  for (size_t i = 0; i < 2 * limits::kMaxChunkRequestsWaiting; ++i) {
    EXPECT_TRUE(service.Add({.link = 1, .index = 3, .bytes = 10}, TimePoint{}));
  }
  EXPECT_EQ(service.TakeDue(TimePoint{}).size(), 1U);
}

TEST(ChunkService, ForgetsALink) {
  ChunkService service;
  ASSERT_TRUE(service.Add({.link = 1, .bytes = 10}, TimePoint{}));
  service.LinkDown(1);
  EXPECT_THAT(service.TakeDue(TimePoint{}), IsEmpty());
  EXPECT_EQ(service.waiting(), 0U);
}

// A core with two peers: one signs too much, the other does not.
class FloodedCore : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(liar_.Dial().closed, "");
    ASSERT_EQ(honest_.Dial().closed, "");
  }
  // Lets seconds pass in which the peers answer what a neighbour must.
  void Wait(Duration duration) {
    for (Duration passed{}; passed < duration; passed += seconds(1)) {
      target_.Advance(seconds(1));
      Answers answers;
      answers.Add(target_.core().OnTick(target_.now()));
      EXPECT_EQ(answers.closed, "");
      for (const WireFrame& frame : answers.frames) {
        if (frame.has_ping()) {
          WireFrame ack;
          ack.mutable_ack()->set_seq(frame.ping().seq());
          liar_.Send(ack);
          honest_.Send(ack);
        }
      }
    }
  }
  // Pushes and serves one more pattern of a peer. Returns whether it was accepted.
  bool Spread(TestPeer& peer) {
    target_.Advance(std::chrono::milliseconds(1));  // the newest items are kept
    const std::string payload = federation::EncodeSharedPattern(PatternOf(++seed_));
    const privacy::Envelope envelope = peer.Manifest(ItemKind::kPattern, payload);
    held_.emplace(AsText(privacy::MessageId(envelope)), envelope);
    const Answers answers = peer.Serve(peer.Push(envelope), payload);
    EXPECT_EQ(answers.closed, "");
    return answers.accepted.size() == 1;
  }

  CoreUnderTest target_;
  TestPeer liar_{target_, 1, 7};
  TestPeer honest_{target_, 2, 8};
  std::map<std::string, privacy::Envelope> held_;
  uint64_t seed_ = 0;
};

TEST_F(FloodedCore, ValidItemsOfOneOriginWithoutEndWaitAndNoOthersDo) {
  size_t accepted = 0;
  const int minutes = 10;
  for (int i = 0; i < minutes * 60; ++i) {
    for (int j = 0; j < 4; ++j) {
      accepted += Spread(liar_) ? 1U : 0U;
    }
    Wait(seconds(1));
    if (i % 10 == 0) {
      EXPECT_TRUE(Spread(honest_)) << i;
    }
  }
  EXPECT_LE(accepted, 2 * limits::kMaxPatternsPerOrigin +
                          static_cast<size_t>(minutes * 60 * limits::kOriginPatternsPerSecond) + 1);
  EXPECT_GE(accepted, limits::kMaxPatternsPerOrigin);
  EXPECT_GT(target_.Refused(reasons::kOverBudget), 0U);
  EXPECT_EQ(target_.Limit("origin_items").refused, target_.Refused(reasons::kOverBudget));
  EXPECT_GT(target_.Limit("kept_items_of_origin").refused, 0U);
}

TEST_F(FloodedCore, WhatWaitedIsFetchedOnceTheBudgetAllowsIt) {
  while (Spread(liar_)) {
  }
  const std::string payload = federation::EncodeSharedPattern(PatternOf(seed_));
  const privacy::Envelope& put_off = [&]() -> const privacy::Envelope& {
    for (const auto& [id, envelope] : held_) {
      const Digest root = federation::MerkleTree(payload).root();
      if (federation::DecodeManifest(AsBytes(envelope.body))->payload_root == root) {
        return envelope;
      }
    }
    return held_.begin()->second;
  }();
  WireFrame have;
  have.mutable_i_have()->add_ids(std::string(AsText(privacy::MessageId(put_off))));
  EXPECT_EQ(honest_.Send(have).Find(WireFrame::kIWant), nullptr);  // not yet
  Wait(limits::kPutOffTime);
  ASSERT_NE(honest_.Send(have).Find(WireFrame::kIWant), nullptr);
  EXPECT_EQ(honest_.Serve(honest_.Push(put_off), payload).accepted.size(), 1U);
}

TEST_F(FloodedCore, AFloodOverAnotherLinkIsChargedToItsOrigin) {
  while (Spread(liar_)) {
  }
  const std::string payload = federation::EncodeSharedPattern(PatternOf(++seed_));
  const privacy::Envelope envelope = liar_.Manifest(ItemKind::kPattern, payload);
  const double before = target_.core().ScoreOf(honest_.key().id());
  const Answers passed_on = honest_.Push(envelope);
  EXPECT_EQ(passed_on.Find(WireFrame::kChunkRequest), nullptr);
  EXPECT_EQ(target_.core().ScoreOf(honest_.key().id()), before);
  EXPECT_TRUE(Spread(honest_));
}

// It announced an item of another member again and again, and then had none of its chunks.
TEST_F(FloodedCore, AnnouncementsOfOneMemberCostNoOtherMemberItsBudget) {
  federation::SharedPattern pattern = PatternOf(++seed_);
  const std::string payload = federation::EncodeSharedPattern(pattern);
  const privacy::Envelope envelope = honest_.Manifest(ItemKind::kPattern, payload);
  const Digest id = privacy::MessageId(envelope);
  WireFrame have;
  have.mutable_i_have()->add_ids(std::string(AsText(id)));
  WireFrame missing;
  missing.mutable_chunk()->set_item_id(std::string(AsText(id)));
  missing.mutable_chunk()->set_missing(true);
  for (size_t i = 0; i < 600; ++i) {
    liar_.Send(have);
    EXPECT_EQ(liar_.Push(envelope).closed, "");
    liar_.Send(missing);
    if (i % 20 == 0) {
      Wait(seconds(1));
    }
  }
  EXPECT_EQ(target_.Refused(reasons::kOverBudget), 0U);
  EXPECT_TRUE(Spread(honest_));
}

// An honest node checks what it passes on.
TEST_F(FloodedCore, InvalidContentCostsThePeerThatDeliveredIt) {
  const double before = target_.core().ScoreOf(liar_.key().id());
  std::string closed;
  for (uint64_t i = 0; i < 40 && closed.empty(); ++i) {
    federation::SharedPattern pattern = PatternOf(i);
    pattern.quality = 7;
    const std::string payload = federation::EncodeSharedPattern(pattern);
    closed = liar_.Serve(liar_.Push(liar_.Manifest(ItemKind::kPattern, payload)), payload).closed;
  }
  EXPECT_LT(target_.core().ScoreOf(liar_.key().id()), before);
  EXPECT_EQ(closed, reasons::kGraylisted);
}

}  // namespace
}  // namespace ruvd::test
