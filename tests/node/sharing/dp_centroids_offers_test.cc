// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Noised centroids are withdrawn as a whole, and peers keep them apart from patterns with an
// adapter.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <variant>
#include <vector>

#include "federation/limits.h"
#include "inference/adapter/bank.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/store_pattern_index.h"
#include "tests/node/sharing/dp_centroids_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::IsEmpty;
using testing::Not;

TEST_F(DpCentroidsTest, WhoWithdrawsTakesTheWholeReleaseBack) {
  Teach("bob", 7, 200);
  Offer();
  ASSERT_GE(Offered().size(), 2u);
  Say("bob", 0);
  const federation::Actions actions = own_->RefreshAll(*core_, Now()).value();
  EXPECT_THAT(Offered(), IsEmpty()) << "which of them was bob's is nobody's business";
  EXPECT_TRUE(std::ranges::any_of(actions, [](const federation::Action& action) {
    return std::holds_alternative<federation::ItemWithdrawn>(action);
  }));
  EXPECT_EQ(Spent().reservations, 1u) << "nothing is given back";
}

TEST_F(DpCentroidsTest, AWithdrawalHoldsOverARestart) {
  Offer();
  const std::vector<federation::Item> stored = PatternItems();
  Say("alice", 0);
  Start(stored);
  EXPECT_EQ(removed_.size(), 1u);
  EXPECT_THAT(Offered(), IsEmpty());
}

TEST_F(DpCentroidsTest, AnotherTierTakesCentroidsBack) {
  Offer();
  ASSERT_THAT(Offered(), Not(IsEmpty()));
  SetTier(privacy::ConsentTier::kPrivate);
  EXPECT_THAT(Offered(), IsEmpty());
}

// Renewing the consent for an equal tier is no reason to withdraw them.
TEST_F(DpCentroidsTest, ARenewedConsentKeepsThem) {
  Offer();
  SetTier(privacy::ConsentTier::kDp);
  ASSERT_TRUE(own_->RefreshAll(*core_, Now()).ok());
  EXPECT_EQ(Offered().size(), 1u);
}

TEST_F(DpCentroidsTest, StoredPatternsStillDoNotLeave) {
  std::vector<float> embedding(kCentroidDimension);
  embedding[9] = 1;
  const serving::PatternPayload payload{.core = std::vector<float>(4, 0.5F),
                                        .frame_id = frame_.id,
                                        .contributors = lessons_.contributors};
  ASSERT_TRUE(patterns_
                  ->Put({.id = storage::PatternId{1},
                         .embedding = embedding,
                         .bank = static_cast<uint32_t>(inference::BankOf(1)),
                         .examples = 500,
                         .origin = key_.id(),
                         .created_ms = 1,
                         .updated_ms = 2,
                         .payload = serving::EncodePatternPayload(payload)})
                  .ok());
  ASSERT_TRUE(own_->FollowChanges(*core_, Now()).ok());
  Offer();
  ASSERT_EQ(Offered().size(), 1u);
  EXPECT_NE(Offered()[0].id, storage::PatternId{1});
}

// A peer marks them as noised, and they take no place from patterns that bring an adapter.
TEST_F(DpCentroidsTest, APeerMarksThemAndServesAsBefore) {
  Offer();
  const federation::SharedPattern noised = Offered().at(0);
  StartPeer();
  ASSERT_TRUE(peer_->Store(noised, key_.id()).ok());
  const storage::Pattern stored = patterns_->Get(noised.id).value();
  EXPECT_EQ(stored.tier, storage::SharingTier::kDp);
  EXPECT_TRUE(stored.adapter_name.empty());
  EXPECT_EQ(stored.embedding, noised.centroid);

  std::vector<float> query(kCentroidDimension);
  query[0] = 1;
  const auto hits = patterns_->Search(query, {.k = 1}).value();
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].pattern.id, noised.id);
  std::vector<float> farther = query;
  farther[1] = 2;
  ASSERT_TRUE(patterns_
                  ->Put({.id = storage::PatternId{2},
                         .embedding = farther,
                         .bank = static_cast<uint32_t>(inference::BankOf(1)),
                         .origin = test::SeedOf(9),
                         .created_ms = 1,
                         .updated_ms = 2,
                         .adapter_name = "other",
                         .adapter_version = 1})
                  .ok());
  const auto served =
      serving::StorePatternIndex(*patterns_).Search(query, inference::BankOf(1), 1).value();
  ASSERT_EQ(served.size(), 1u);
  EXPECT_EQ(served[0].adapter, "other");
}

// Regression test: after the former release had ended, a peer took the next release's centroid for
// one that had been removed.
TEST_F(DpCentroidsTest, APeerKeepsThemForSevenDays) {
  StartPeer();
  Offer();
  const federation::SharedPattern first = Offered().at(0);
  ASSERT_TRUE(peer_->Store(first, key_.id()).ok());
  Wait(std::chrono::milliseconds(limits::kItemLifeMillis - 1));
  EXPECT_TRUE(patterns_->Get(first.id).ok());
  Wait(std::chrono::milliseconds(1));
  EXPECT_FALSE(patterns_->Get(first.id).ok());
  core_->OnTick(Now());
  EXPECT_THAT(Offered(), IsEmpty());
  patterns_->Maintain(std::chrono::seconds(1));
  ASSERT_TRUE(patterns_->WasDeleted(first.id).value());
  Offer();
  ASSERT_THAT(Offered(), Not(IsEmpty()));
  const federation::SharedPattern second = Offered().at(0);
  ASSERT_TRUE(peer_->Store(second, key_.id()).ok());
  EXPECT_TRUE(patterns_->Get(second.id).ok());
}

}  // namespace
}  // namespace ruvd::sharing
