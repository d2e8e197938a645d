// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// How a node combines the newest updates of its cluster, and what it says of each.

#include "node/actors/federated_round.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "inference/adapter/bank.h"

namespace ruvd {
namespace {

constexpr uint32_t kRoundRank = 2;

class FederatedRoundTest : public ::testing::Test {
 protected:
  FederatedRoundTest() {
    frame_.id.fill(7);
    frame_.target = "blk.0.attn_output.weight";
    frame_.rank = kRoundRank;
  }
  static NodeId IdOf(uint8_t number) {
    NodeId id{};
    id[0] = number;
    return id;
  }
  // An update whose four values are `value`, a little apart for each node.
  void Add(uint8_t node, float value, uint32_t bank = static_cast<uint32_t>(BankOf(1))) {
    const std::vector<float> values = {value, value, value, value + 0.01F * node};
    AddPayload(
        node,
        EncodeAdapterDelta(
            {.cores = {
                 {.target = frame_.target, .bank = bank, .rank = kRoundRank, .values = values}}}));
  }
  void AddPayload(uint8_t node, std::string payload) {
    Item item{.origin = IdOf(node), .created_ms = node};
    item.payload = std::make_shared<const std::string>(std::move(payload));
    items_.push_back(std::move(item));
  }
  FederatedRound Combine() {
    auto round = CombineNewest(items_, frame_, Digest{}, IdOf(0));
    EXPECT_TRUE(round.ok()) << round.status();
    return round.ok() ? *std::move(round) : FederatedRound();
  }
  static float First(const FederatedRound& round) { return round.delta.cores.at(0).values.at(0); }

  Frame frame_;
  std::vector<Item> items_;
};

TEST_F(FederatedRoundTest, WithoutUpdatesThereIsNothing) {
  const FederatedRound round = Combine();
  EXPECT_EQ(round.contributors, 0u);
  EXPECT_TRUE(round.delta.cores.empty());
}

TEST_F(FederatedRoundTest, OneLiarAmongSixMovesLittleAndIsSeen) {
  for (uint8_t node = 0; node < 5; ++node) {
    Add(node, 0.5F);
  }
  Add(5, -5);
  const FederatedRound round = Combine();
  EXPECT_EQ(round.contributors, 6u);
  EXPECT_NEAR(First(round), 0.5F, 0.05F);
  ASSERT_EQ(round.peers.size(), 6u);
  EXPECT_GT(round.peers[1].banks[0].cosine, 0.99);
  EXPECT_LT(round.peers[5].banks[0].cosine, -0.99);
  EXPECT_GT(round.peers[5].banks[0].distance, 5);
  EXPECT_EQ(round.peers[5].origin, IdOf(5));
}

TEST_F(FederatedRoundTest, BelowFiveTheOwnUpdateIsTheCentre) {
  for (uint8_t node = 0; node < 3; ++node) {
    Add(node, 0.5F);
  }
  Add(3, -5);
  EXPECT_NEAR(First(Combine()), 0.5F, 0.2F);
}

TEST_F(FederatedRoundTest, OfTwoNobodyMovesTheResultFar) {
  Add(0, 0);
  Add(1, 7);
  const FederatedRound round = Combine();
  EXPECT_EQ(round.contributors, 2u);
  EXPECT_LE(NormOf(round.delta.cores), 0.5 + 1e-3) << "norm 1 at most, of one in two";
}

TEST_F(FederatedRoundTest, WhatCannotTakePartIsLeftOutWithItsReason) {
  Add(0, 0.1F);
  Add(1, 0.1F, static_cast<uint32_t>(BankOf(0.1F)));  // a bank that is not served
  AddPayload(2, "nonsense");
  Add(3, 100);  // norm 200
  const FederatedRound round = Combine();
  EXPECT_EQ(round.contributors, 1u);
  ASSERT_EQ(round.peers.size(), 4u);
  EXPECT_TRUE(round.peers[0].refused.ok());
  for (size_t peer = 1; peer < 4; ++peer) {
    EXPECT_EQ(ReasonOf(round.peers[peer].refused), reasons::kUpdateInvalid) << peer;
  }
}

TEST_F(FederatedRoundTest, OfTooManyTheNewestCountAndTheOwnOne) {
  for (size_t i = 0; i < limits::kMaxContributions + 2; ++i) {
    Add(static_cast<uint8_t>(i), 0.1F);
    items_.back().origin[1] = static_cast<uint8_t>(i >> 8);
    items_.back().created_ms = static_cast<int64_t>(i);
  }
  const FederatedRound round = Combine();
  EXPECT_EQ(round.contributors, limits::kMaxContributions);
  EXPECT_EQ(round.peers.front().origin, IdOf(0));
  for (const PeerRecord& peer : round.peers) {
    EXPECT_NE(peer.origin, IdOf(1)) << "the oldest";
  }
}

}  // namespace
}  // namespace ruvd
