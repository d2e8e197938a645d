// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/own_withdrawals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/status.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd {
namespace {

class OwnWithdrawalsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    core_ = GossipCore::Create(test::ConfigFor(key_, 1), key_, test::EntropyOf(1), 1, now_).value();
    ASSERT_TRUE(
        core_->SetConsent(ConsentRecord::Sign(ConsentTier::kPublic, now_.wall_ms, key_), now_)
            .ok());
    for (uint64_t round = 1; round <= 2; ++round) {
      ASSERT_TRUE(core_->OfferAdapterDelta(round, test::DeltaOf(round), now_).ok());
    }
    ASSERT_TRUE(core_->OfferPattern(test::PatternOf(1), now_).ok());
  }

  const NodeKey key_ = NodeKey::FromSeed(test::SeedOf(1));
  const Instant now_ = test::At(std::chrono::seconds(1));
  std::unique_ptr<GossipCore> core_;
};

TEST_F(OwnWithdrawalsTest, WhatIsTakenBackIsSignedAndStoredOnce) {
  WithdrawalStore store(*database_);
  const std::vector<Digest> offered = ItemsOf(*core_, key_.id());
  ASSERT_EQ(offered.size(), 3u);
  EXPECT_EQ(NoteTakenBack(offered, *core_, key_, 7, &store), 0u);
  EXPECT_TRUE(store.All()->empty());
  core_->WithdrawAdapterDeltas();
  EXPECT_EQ(NoteTakenBack(offered, *core_, key_, 7, &store), 2u);
  const auto noted = store.All();
  ASSERT_TRUE(noted.ok()) << noted.status();
  ASSERT_EQ(noted->size(), 1u);
  const Withdrawal& withdrawal = noted->front();
  EXPECT_TRUE(withdrawal.Verify(key_.public_key()).ok());
  EXPECT_EQ(withdrawal.withdrawn_ms, 7);
  size_t covered = 0;
  for (const Digest& id : offered) {
    covered += withdrawal.Covers(id, key_.id(), 1) ? 1 : 0;
  }
  EXPECT_EQ(covered, 2u);
  EXPECT_FALSE(withdrawal.Covers(ItemsOf(*core_, key_.id()).front(), key_.id(), 1));
}

TEST_F(OwnWithdrawalsTest, ARowThatIsNoneIsReported) {
  WithdrawalStore store(*database_);
  Batch batch;
  batch.Put(ColumnFamily::kConsent, "w/garbage", "x");
  ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
  EXPECT_TRUE(absl::IsDataLoss(store.All().status()));
}

}  // namespace
}  // namespace ruvd
