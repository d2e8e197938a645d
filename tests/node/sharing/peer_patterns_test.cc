// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/peer_patterns.h"

#include <gtest/gtest.h>

#include "storage/limits.h"
#include "tests/node/sharing/peer_patterns_fixture.h"

namespace ruvd::sharing {
namespace {

using storage::PatternStanding;

TEST_F(PeerPatternsTest, TheNewestVersionStaysWhateverTheOrderOfArrival) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  ASSERT_TRUE(peers_->Store(Shared(1, 100), Node(2)).ok());
  EXPECT_EQ(StoredTime(1), 200);
  ASSERT_TRUE(peers_->Store(Shared(1, 300), Node(2)).ok());
  EXPECT_EQ(StoredTime(1), 300);
}

// What this node knows about a peer's pattern must survive a new version from the peer.
TEST_F(PeerPatternsTest, ANewVersionKeepsUsesAndTheOperatorsExpiry) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  storage::Pattern mine = *store_->Get(Shared(1, 0).id);
  mine.expires_ms = clock_.WallMillis() + 1'000'000;
  ASSERT_TRUE(store_->Put(mine).ok());
  ASSERT_TRUE(store_->RecordUse(mine.id).ok());
  ASSERT_TRUE(peers_->Store(Shared(1, 300), Node(2)).ok());
  const storage::Pattern stored = *store_->Get(mine.id);
  EXPECT_EQ(stored.updated_ms, 300);
  EXPECT_EQ(stored.expires_ms, mine.expires_ms);
  EXPECT_EQ(stored.uses, 1U);
  EXPECT_GT(stored.last_used_ms, 0);
}

TEST_F(PeerPatternsTest, NobodyReplacesThePatternOfAnother) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  EXPECT_EQ(ReasonOf(peers_->Store(Shared(1, 300), Node(3))), reasons::kPatternTaken);
  EXPECT_EQ(store_->Get(Shared(1, 0).id)->origin, Node(2));
}

TEST_F(PeerPatternsTest, ADeletedPatternDoesNotComeBack) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  ASSERT_TRUE(store_->Delete(Shared(1, 0).id).ok());
  ASSERT_TRUE(peers_->Store(Shared(1, 300), Node(2)).ok());
  EXPECT_EQ(store_->size(), 0U);
}

TEST_F(PeerPatternsTest, WhatIsBelowTheGateIsRefusedAndCounted) {
  peers_ = std::make_unique<PeerPatterns>(*store_, nullptr, Node(1),
                                          PatternGate{.quality = 0.5F, .examples = 10});
  const privacy::NodeKey key = privacy::NodeKey::FromSeed(test::SeedOf(1));
  const auto core = federation::GossipCore::Create(test::ConfigFor(key, 1), key, test::EntropyOf(1),
                                                   1, test::At(std::chrono::seconds(1)))
                        .value();
  uint16_t next = 1;
  const auto store = [&](float quality, uint32_t examples, uint8_t origin) {
    federation::SharedPattern shared = Shared(next++, 200);
    shared.quality = quality;
    shared.examples = examples;
    EXPECT_TRUE(peers_->Store(ItemOf(shared, Node(origin)), *core).ok());
  };
  store(0.5F, 10, 2);
  store(0.49F, 10, 2);
  store(1, 9, 2);
  next = 1;
  store(1, 10, 3);
  EXPECT_EQ(store_->size(), 1U);
  EXPECT_EQ(peers_->refused(), (std::map<std::string, uint64_t>{{reasons::kPatternTaken, 1},
                                                                {reasons::kPatternTooWeak, 2}}));
}

TEST_F(PeerPatternsTest, WhatItsOriginWithdrawsIsRemovedAndComesBackOnlyNewer) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  ASSERT_TRUE(peers_->Store(Shared(2, 400), Node(2)).ok());
  const std::vector<storage::PatternId> named = {Shared(1, 0).id, Shared(2, 0).id, Shared(3, 0).id};
  ASSERT_TRUE(peers_->Withdraw(WithdrawalOf(Node(3), named, 500)).ok());
  EXPECT_EQ(store_->size(), 2U) << "of another origin";
  ASSERT_TRUE(peers_->Withdraw(WithdrawalOf(Node(2), named, 300)).ok());
  EXPECT_EQ(store_->size(), 1U) << "the other one is newer";
  ASSERT_TRUE(peers_->Store(Shared(1, 300), Node(2), 300).ok());
  EXPECT_EQ(store_->size(), 1U);
  ASSERT_TRUE(peers_->Store(Shared(1, 301), Node(2), 300).ok());
  EXPECT_EQ(store_->Get(Shared(1, 0).id)->updated_ms, 301);
}

TEST_F(PeerPatternsTest, AWithdrawnItemRemovesItsOwnVersionOnly) {
  ASSERT_TRUE(peers_->Store(Shared(1, 200), Node(2)).ok());
  ASSERT_TRUE(peers_->Remove(ItemOf(Shared(1, 100), Node(2))).ok());
  EXPECT_EQ(store_->size(), 1U);
  ASSERT_TRUE(peers_->Remove(ItemOf(Shared(1, 200), Node(2))).ok());
  EXPECT_EQ(store_->size(), 0U);
}

TEST_F(PeerPatternsTest, OneOriginKeepsItsNewestUpToTheLimitOverRestarts) {
  constexpr auto kLimit = static_cast<uint16_t>(limits::kMaxPatternsPerOrigin);
  ASSERT_TRUE(peers_->Store(Shared(0xffff, 1), Node(3)).ok());
  for (uint16_t n = 0; n < kLimit; ++n) {
    ASSERT_TRUE(peers_->Store(Shared(n, 1000 + n), Node(2)).ok());
  }
  Load();
  ASSERT_TRUE(peers_->Store(Shared(kLimit, 5000), Node(2)).ok());
  EXPECT_EQ(store_->size(), kLimit + 1U) << "another origin's pattern is not touched";
  const LimitUse rows = peers_->Limits().front();
  EXPECT_EQ(rows.name, "pattern_rows");
  EXPECT_EQ(rows.used, kLimit + 1U);
  EXPECT_EQ(rows.refused, 1U);
  EXPECT_TRUE(absl::IsNotFound(store_->Get(Shared(0, 0).id).status()));
  EXPECT_TRUE(store_->Get(Shared(kLimit, 0).id).ok());
}

class DurablePeerPatternsTest : public PeerPatternsTest {
 protected:
  storage::Durability durability() const override { return storage::Durability::kPowerLoss; }
};

// Each valid pattern of a peer cost the federation actor one or two fsyncs, and a tombstone of
// ninety days once the peer had 256.
TEST_F(DurablePeerPatternsTest, PatternsOfPeersCostTheFederationActorNoFsync) {
  const uint16_t most = limits::kMaxPatternsPerOrigin;
  for (uint16_t n = 1; n <= most + 20; ++n) {
    ASSERT_TRUE(peers_->Store(Shared(n, 100 + n), Node(2)).ok());
  }
  ASSERT_TRUE(peers_->Withdraw(WithdrawalOf(Node(2), {Shared(30, 0).id}, 1000)).ok());
  EXPECT_EQ(store_->size(), most - 1U);
  EXPECT_EQ(store_->Stats().last_sequence, 0U) << "what an fsync would have made durable";
  ASSERT_TRUE(store_->Sync().ok());
  EXPECT_EQ(store_->Stats().last_sequence, most + 20U + 20U + 1U);
  EXPECT_TRUE(peers_->FollowChanges().ok());
  clock_.Advance(limits::kTombstoneWalkInterval);
  while (store_->Maintain(std::chrono::milliseconds(20)).more) {
  }
  EXPECT_EQ(store_->Stats().tombstones, 1U) << "that of the withdrawn one";
}

}  // namespace
}  // namespace ruvd::sharing
