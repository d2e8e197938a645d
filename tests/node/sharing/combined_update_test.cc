// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests how a node combines the newest updates of its cluster, and what it reports about each.

#include "node/sharing/combined_update.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/distances.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::sharing {
namespace {

constexpr uint32_t kRoundRank = 2;

class FederatedRoundTest : public ::testing::Test {
 protected:
  FederatedRoundTest() {
    frame_.id.fill(7);
    frame_.target = "blk.0.attn_output.weight";
    frame_.rank = kRoundRank;
    options_.layout = {.frame = &frame_};
    options_.self = IdOf(0);
  }
  static privacy::NodeId IdOf(uint8_t number) {
    privacy::NodeId id{};
    id[0] = number;
    return id;
  }
  // Returns four values that are close to `value`, a little different for each node.
  static std::vector<float> ValuesOf(uint8_t node, float value) {
    return {value, value, value, value + 0.01F * node};
  }
  // Adds an update with one bank for all t.
  void Add(uint8_t node, float value) { AddBanks(node, {}, {value}); }
  // Returns an update with one bank for each value.
  federation::AdapterUpdate UpdateOf(uint8_t node, std::vector<float> boundaries,
                                     std::vector<float> values) {
    federation::BankedValues banks;
    for (const float value : values) {
      banks.push_back(ValuesOf(node, value));
    }
    return UpdateOfBanks({.frame = &frame_, .boundaries = std::move(boundaries)}, std::move(banks),
                         3);
  }
  void AddBanks(uint8_t node, std::vector<float> boundaries, std::vector<float> values) {
    AddPayload(node, federation::EncodeAdapterUpdate(
                         UpdateOf(node, std::move(boundaries), std::move(values))));
  }
  void AddPayload(uint8_t node, std::string payload) {
    federation::Item item{.origin = IdOf(node), .created_ms = node};
    item.payload = std::make_shared<const std::string>(std::move(payload));
    items_.push_back(std::move(item));
  }
  CombinedUpdate Combine() {
    auto round = CombineNewest(items_, options_);
    EXPECT_TRUE(round.ok()) << round.status();
    return round.ok() ? *std::move(round) : CombinedUpdate();
  }
  static float First(const CombinedUpdate& round, size_t bank = 0) {
    return round.target.at(bank).at(0);
  }

  inference::ProjectionFrame frame_;
  CombineOptions options_;
  std::vector<federation::Item> items_;
};

TEST_F(FederatedRoundTest, WithoutUpdatesThereIsNothing) {
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{0});
  EXPECT_EQ(round.target, federation::BankedValues{std::vector<float>(4)});
}

TEST_F(FederatedRoundTest, OneLiarAmongSixMovesLittleAndIsSeen) {
  for (uint8_t node = 0; node < 5; ++node) {
    Add(node, 0.5F);
  }
  Add(5, -5);
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{6});
  EXPECT_NEAR(First(round), 0.5F, 0.05F);
  ASSERT_EQ(round.peers.size(), 6u);
  EXPECT_GT(round.peers[1].banks[0].cosine, 0.99);
  EXPECT_LT(round.peers[5].banks[0].cosine, -0.99);
  EXPECT_GT(round.peers[5].banks[0].distance, 5);
  EXPECT_EQ(round.peers[5].origin, IdOf(5));
}

// A liar in one bank is outvoted there, and counts in the other.
TEST_F(FederatedRoundTest, ALiarInOneBankIsOutvotedInThatBank) {
  options_.layout.boundaries = {0.5F};
  for (uint8_t node = 0; node < 5; ++node) {
    AddBanks(node, {0.5F}, {0.5F, -0.25F});
  }
  AddBanks(5, {0.5F}, {0.5F, 5});
  const CombinedUpdate round = Combine();
  EXPECT_NEAR(First(round, 0), 0.5F, 0.01F);
  EXPECT_NEAR(First(round, 1), -0.25F, 0.05F);
  EXPECT_GT(round.peers[5].banks[0].cosine, 0.99);
  EXPECT_LT(round.peers[5].banks[1].cosine, -0.99);
}

// A node with one bank, one with two and one with four: each contributes to every bank of this
// node.
TEST_F(FederatedRoundTest, UpdatesOfOtherBanksAreAligned) {
  options_.layout.boundaries = {0.5F};
  Add(0, 0.1F);
  AddBanks(1, {0.5F}, {0.1F, 0.3F});
  AddBanks(2, {0.25F, 0.5F, 0.75F}, {0, 0.2F, 0.2F, 0.4F});
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, (std::vector<size_t>{3, 3}));
  for (const federation::PeerRecord& peer : round.peers) {
    EXPECT_TRUE(peer.refused.ok()) << peer.refused;
    EXPECT_EQ(peer.staleness, 0u);
    for (const federation::BankEffect& bank : peer.banks) {
      EXPECT_EQ(bank.coverage, 1);
    }
  }
  EXPECT_NEAR(First(round, 0), 0.1F, 0.02F);
  EXPECT_GT(First(round, 1), 0.1F + 0.02F) << "two of three say 0.3";
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
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{2});
  EXPECT_LE(federation::SquaredNorm(round.target[0]), 0.25 + 1e-3)
      << "norm 1 at most, of one in two";
}

TEST_F(FederatedRoundTest, WhatCannotTakePartIsLeftOutWithItsReason) {
  Add(0, 0.1F);
  federation::AdapterUpdate kind = UpdateOf(1, {}, {0.1F});
  kind.kind = federation::FactorKind::kFfa;
  AddPayload(1, federation::EncodeAdapterUpdate(kind));
  AddPayload(2, "nonsense");
  federation::AdapterUpdate large = UpdateOf(3, {}, {0.1F});
  large.banks[0].values.assign(large.values_per_bank(), 100);  // norm 200
  AddPayload(3, federation::EncodeAdapterUpdate(large));
  federation::AdapterUpdate other = UpdateOf(4, {}, {0.1F});
  other.frame_id.fill(8);
  AddPayload(4, federation::EncodeAdapterUpdate(other));
  federation::AdapterUpdate later = UpdateOf(5, {}, {0.1F});
  later.round = 3;
  AddPayload(5, federation::EncodeAdapterUpdate(later));
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{1});
  ASSERT_EQ(round.peers.size(), 6u);
  EXPECT_TRUE(round.peers[0].refused.ok());
  for (size_t peer = 1; peer < 6; ++peer) {
    EXPECT_EQ(ReasonOf(round.peers[peer].refused),
              peer == 4 ? reasons::kFrameMismatch : reasons::kUpdateInvalid)
        << peer;
  }
}

TEST_F(FederatedRoundTest, OfTooManyTheNewestCountAndTheOwnOne) {
  for (size_t i = 0; i < limits::kMaxContributions + 2; ++i) {
    Add(static_cast<uint8_t>(i), 0.1F);
    items_.back().origin[1] = static_cast<uint8_t>(i >> 8);
    items_.back().created_ms = static_cast<int64_t>(i);
  }
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{limits::kMaxContributions});
  EXPECT_EQ(round.peers.front().origin, IdOf(0));
  for (const federation::PeerRecord& peer : round.peers) {
    EXPECT_NE(peer.origin, IdOf(1)) << "the oldest";
  }
}

// The inputs are the mean of four and an update of one: the parts of the sum are unknown, but their
// number is known.
TEST_F(FederatedRoundTest, AMaskedSumCountsAsItsMembersAndNobodyTwice) {
  AddBanks(1, {}, {0.1F});
  AddBanks(2, {}, {0.4F});  // is in the sum
  MaskedMean mean{.name = {200}, .round = 3, .members = {IdOf(0), IdOf(2), IdOf(3), IdOf(4)}};
  mean.update = UpdateOf(0, {}, {0.3F});
  options_.sums = {std::make_shared<const MaskedMean>(mean)};
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{2});
  ASSERT_EQ(round.peers.size(), 3u);
  EXPECT_TRUE(round.peers[0].refused.ok());
  EXPECT_EQ(ReasonOf(round.peers[1].refused), reasons::kInMaskedSum);
  EXPECT_EQ(round.peers[2].origin, mean.name);
  EXPECT_EQ(round.peers[2].members, 4u);
  EXPECT_EQ(round.peers[2].banks[0].weight, 4);
  EXPECT_NEAR(First(round), (0.1F + 4 * 0.3F) / 5, 0.01F);
}

TEST_F(FederatedRoundTest, TheOwnUpdateIsNotCountedBesideASumThatHoldsIt) {
  AddBanks(0, {}, {-0.4F});
  MaskedMean mean{.name = {200}, .members = {IdOf(0), IdOf(2), IdOf(3), IdOf(4)}};
  mean.update = UpdateOf(0, {}, {0.3F});
  options_.sums = {std::make_shared<const MaskedMean>(mean)};
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{1});
  EXPECT_NEAR(First(round), 0.3F, 0.01F);
}

// A sum is checked like any update.
TEST_F(FederatedRoundTest, ASumThatIsTooLongIsLeftOut) {
  MaskedMean mean{.name = {200}, .members = {IdOf(1), IdOf(2), IdOf(3), IdOf(4)}};
  mean.update = UpdateOf(0, {}, {0.3F});
  mean.update.banks[0].values = {100, 100, 100, 100};
  options_.sums = {std::make_shared<const MaskedMean>(mean)};
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{0});
  EXPECT_EQ(ReasonOf(round.peers.at(0).refused), reasons::kUpdateInvalid);
}

// Regression test: such a sum counted for no node, and its members did not count at all.
TEST_F(FederatedRoundTest, ASumThatIsLeftOutKeepsNoMemberOut) {
  AddBanks(2, {}, {0.3F});
  MaskedMean mean{.name = {200}, .members = {IdOf(1), IdOf(2), IdOf(3), IdOf(4)}};
  mean.update = UpdateOf(0, {}, {0.3F});
  mean.update.frame_id.fill(8);
  options_.sums = {std::make_shared<const MaskedMean>(mean)};
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{1});
  EXPECT_NEAR(First(round), 0.3F, 0.01F);
}

// Quality is what this node measured; where it measured nothing, the weights are those of the
// banks.
TEST_F(FederatedRoundTest, WeightsByQualityNeedMeasurements) {
  options_.strategy.strategy = federation::Strategy::kQualityWeighted;
  AddBanks(1, {}, {0.2F});
  AddBanks(2, {}, {-0.2F});
  EXPECT_EQ(Combine().contributors, std::vector<size_t>{2});
  federation::ReputationTable reputation;
  options_.reputation = &reputation;
  options_.measure =
      [](const federation::BankedValues& candidate) -> absl::StatusOr<federation::ShadowScore> {
    return federation::ShadowScore{
        .banks = {{.gain = candidate[0][0], .standard_error = 0.01, .documents = 9}}};
  };
  const CombinedUpdate round = Combine();
  EXPECT_EQ(round.contributors, std::vector<size_t>{1});
  EXPECT_GT(First(round), 0.1F);
  EXPECT_EQ(round.peers[1].banks[0].weight, 0);
  EXPECT_LT(round.peers[1].banks[0].alone.gain, 0);
  EXPECT_LT(reputation.Of(IdOf(2), 0), 0.5);
  EXPECT_GT(reputation.Of(IdOf(1), 0), 0.5);
}

}  // namespace
}  // namespace ruvd::sharing
