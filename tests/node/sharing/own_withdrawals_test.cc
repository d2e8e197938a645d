// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/own_withdrawals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/status.h"
#include "federation/limits.h"
#include "privacy/limits.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class OwnWithdrawalsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    store_ = std::make_unique<storage::WithdrawalStore>(*database_);
    own_ = std::make_unique<OwnWithdrawals>(key_, store_.get());
  }
  federation::Item Update(uint8_t number) const {
    return {.id = {number}, .kind = federation::ItemKind::kContribution, .origin = key_.id()};
  }
  federation::Item PatternItem(uint64_t seed, int64_t created_ms) const {
    federation::SharedPattern pattern = test::PatternOf(seed);
    pattern.created_ms = created_ms;
    return {
        .id = {99},
        .kind = federation::ItemKind::kPattern,
        .origin = key_.id(),
        .payload = std::make_shared<const std::string>(federation::EncodeSharedPattern(pattern))};
  }

  const privacy::NodeKey key_ = privacy::NodeKey::FromSeed(test::SeedOf(1));
  std::unique_ptr<storage::WithdrawalStore> store_;
  std::unique_ptr<OwnWithdrawals> own_;
};

TEST_F(OwnWithdrawalsTest, WhatIsTakenBackIsSignedAndStoredOnce) {
  EXPECT_FALSE(own_->pending());
  own_->Add(Update(2));
  own_->Add(Update(1));
  own_->Add(PatternItem(1, 5));
  own_->Add(PatternItem(1, 9));
  EXPECT_TRUE(own_->pending());
  const auto records = own_->Take({}, 7);
  EXPECT_FALSE(own_->pending());
  ASSERT_EQ(records.size(), 1u);
  EXPECT_TRUE(records[0].Verify(key_.public_key()).ok());
  EXPECT_THAT(records[0].items, ElementsAre(Digest{1}, Digest{2}));
  EXPECT_THAT(records[0].patterns, ElementsAre(test::PatternOf(1).id));
  EXPECT_EQ(records[0].withdrawn_ms, 9) << "not before what it takes back";
  EXPECT_EQ(own_->total().updates, 2u);
  EXPECT_EQ(own_->total().patterns, 1u);
  EXPECT_THAT(store_->All().value(), ElementsAre(records[0]));
  EXPECT_THAT(own_->LoadStored(10), ElementsAre(records[0]));
  EXPECT_THAT(own_->LoadStored(9 + limits::kWithdrawalLifeMillis), IsEmpty());
}

TEST_F(OwnWithdrawalsTest, ARecordSaysWhatTheOneBeforeSaid) {
  own_->Add(Update(1));
  own_->Add(PatternItem(1, 5));
  own_->Add(PatternItem(2, 5));
  const privacy::Withdrawal first = own_->Take({}, 7).at(0);
  own_->Add(Update(2));
  const privacy::Withdrawal second = own_->Take({}, 8).at(0);
  EXPECT_TRUE(second.Includes(first));
  own_->Add(Update(3));
  const privacy::Withdrawal third = own_->Take({test::PatternOf(1).id}, 9).at(0);
  EXPECT_THAT(third.patterns, ElementsAre(test::PatternOf(2).id)) << "the other is offered again";
  for (int i = 4; i < 4 + static_cast<int>(limits::kMaxWithdrawnItems); ++i) {
    own_->Add(Update(static_cast<uint8_t>(i)));
  }
  const auto full = own_->Take({}, 10);
  ASSERT_EQ(full.size(), 1u);
  EXPECT_FALSE(full[0].Includes(third)) << "there is no room";
}

TEST_F(OwnWithdrawalsTest, ManyItemsAreTakenBackInSeveralRecords) {
  for (int i = 0; i < 130; ++i) {
    own_->Add(Update(static_cast<uint8_t>(i)));
  }
  const auto records = own_->Take({}, 7);
  size_t named = 0;
  for (const privacy::Withdrawal& record : records) {
    named += record.items.size();
  }
  EXPECT_EQ(records.size(), 3u);
  EXPECT_EQ(named, 130u);
}

TEST_F(OwnWithdrawalsTest, ARowThatIsNoneIsReported) {
  storage::Batch batch;
  batch.Put(storage::ColumnFamily::kConsent, "w/garbage", "x");
  ASSERT_TRUE(database_->Write(std::move(batch), storage::Durability::kProcessCrash).ok());
  EXPECT_TRUE(absl::IsDataLoss(store_->All().status()));
}

}  // namespace
}  // namespace ruvd::sharing
