// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which nodes a masked round leaves out, and what these nodes say about it.

#include <gmock/gmock.h>

#include <chrono>

#include "base/reasons.h"
#include "privacy/reasons.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "tests/node/sharing/masked_sharing_fixture.h"

namespace ruvd::sharing {
namespace {

using std::chrono::seconds;
using testing::IsEmpty;

// A sum of five costs rho 512 on this coarse grid, a sum of four 171: this budget is rho 600.
constexpr double kOneShareOfFive = 782;

TEST_F(MaskedSharingTest, ANodeThatCannotPayGivesNothingAndSaysSoOnce) {
  Start(Masked(5), {{3, 1}});
  RunToRound(2);
  ExpectMean({0, 1, 2, 4});
  EXPECT_EQ(Count(3, federation::ItemKind::kMaskKey), 0u);
  EXPECT_EQ(Charges(3), 0u);
  const admin::v1::ReleaseStatus view = nodes_[3].release->View(privacy::ConsentTier::kMasked);
  EXPECT_EQ(view.refusals(), 1u);
  EXPECT_EQ(view.refusal_reason(), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(nodes_[3].sharing->View().waits_reason(), reasons::kPrivacyBudgetSpent);
}

// The earlier sum is charged; the next one would exceed the limit.
TEST_F(MaskedSharingTest, AtTheLimitANodeIsLeftOutOfTheNextSum) {
  Start(Masked(5), {{3, kOneShareOfFive}});
  RunToRound(2);
  ExpectMean({0, 1, 2, 3, 4});
  for (Node& node : nodes_) {
    ++node.version;
  }
  RunToRound(5);
  ExpectMean({0, 1, 2, 4});
  ExpectNothingTwice();
  EXPECT_EQ(Charges(3), 1u);
  EXPECT_EQ(nodes_[3].release->View(privacy::ConsentTier::kMasked).refusal_reason(),
            reasons::kPrivacyBudgetSpent);
}

// Alice withdraws her consent between her node's key and its share.
TEST_F(MaskedSharingTest, AConsentThatIsTakenBackDuringARoundKeepsTheShareHere) {
  Start(Masked(5));
  RunToRound(1);
  while (Count(2, federation::ItemKind::kMaskKey) < 2) {
    Step();
  }
  ASSERT_EQ(Count(2, federation::ItemKind::kMaskShare), 0u);
  Say(2, privacy::ConsentTier::kPrivate);
  RunToRound(2);
  ExpectMean({0, 1, 3, 4});
  ExpectNothingTwice();
  EXPECT_EQ(Charges(2), 0u);
  EXPECT_EQ(Charges(0), 2u) << "one share for each set";
  EXPECT_EQ(nodes_[2].release->View(privacy::ConsentTier::kMasked).refusal_reason(),
            reasons::kConsentMissing);
  EXPECT_EQ(nodes_[0].sharing->View().last_attempt(), 2u);
}

TEST_F(MaskedSharingTest, WhatNobodyAgreedToIsNotAnnounced) {
  Start(Masked(5));
  Say(2, privacy::ConsentTier::kPrivate);
  RunToRound(2);
  ExpectMean({0, 1, 3, 4});
  EXPECT_EQ(Count(2, federation::ItemKind::kMaskKey), 0u);
}

// Under another tier nothing more leaves at once, and nothing leaves again in this round.
TEST_F(MaskedSharingTest, AChangeOfTierDuringARoundKeepsTheShareHere) {
  Start(Masked(5));
  RunToRound(1);
  while (Count(2, federation::ItemKind::kMaskKey) < 2) {
    Step();
  }
  SetTier(2, privacy::ConsentTier::kPrivate);
  SetTier(2, privacy::ConsentTier::kMasked);
  RunFor(seconds(50));
  EXPECT_EQ(Count(2, federation::ItemKind::kMaskShare), 0u);
  EXPECT_EQ(Charges(2), 0u);
  ExpectMean({0, 1, 3, 4});
  ++nodes_[0].version;
  ++nodes_[1].version;
  ++nodes_[3].version;
  RunToRound(4);
  EXPECT_EQ(Charges(2), 1u);
  EXPECT_EQ(nodes_[2].sharing->means().front()->members.size(), 4u);
  EXPECT_TRUE(nodes_[2].sharing->View().last_own());
}

TEST_F(MaskedSharingTest, WhoIsOfAnotherTierFollowsAndGivesNothing) {
  Start({privacy::ConsentTier::kMasked, privacy::ConsentTier::kMasked,
         privacy::ConsentTier::kPrivate, privacy::ConsentTier::kMasked,
         privacy::ConsentTier::kMasked});
  RunToRound(2);
  ExpectMean({0, 1, 3, 4});
  EXPECT_EQ(Count(2, federation::ItemKind::kMaskKey), 0u);
  EXPECT_EQ(Charges(2), 0u);
  const admin::v1::MaskedStatus view = nodes_[2].sharing->View();
  EXPECT_EQ(view.last_members(), 4u);
  EXPECT_FALSE(view.last_own());
}

TEST_F(MaskedSharingTest, ThreeNodesWaitForAFourth) {
  Start({privacy::ConsentTier::kMasked, privacy::ConsentTier::kMasked,
         privacy::ConsentTier::kMasked, privacy::ConsentTier::kPrivate});
  RunToRound(3);
  for (const Node& node : nodes_) {
    EXPECT_THAT(node.sharing->means(), IsEmpty());
  }
  EXPECT_EQ(Charges(0), 0u);
  SetTier(3, privacy::ConsentTier::kMasked);
  RunToRound(5);
  ExpectMean({0, 1, 2, 3});
}

// Regression test: the nodes waited silently; the reason for the missing sum was in the debug log
// only.
TEST_F(MaskedSharingTest, NodesThatAreTooFewForASumSaySo) {
  Start({privacy::ConsentTier::kMasked, privacy::ConsentTier::kMasked,
         privacy::ConsentTier::kMasked, privacy::ConsentTier::kPrivate});
  RunToRound(3);
  Step();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(nodes_[i].sharing->View().waits(),
                testing::HasSubstr("needs 4 nodes, but 3 announced"))
        << i;
  }
  EXPECT_THAT(nodes_[3].sharing->View().waits(), testing::HasSubstr("tier is not masked"));
  SetTier(3, privacy::ConsentTier::kMasked);
  RunToRound(5);
  EXPECT_THAT(nodes_[0].sharing->View().waits(), testing::HasSubstr("same patterns"));
}

}  // namespace
}  // namespace ruvd::sharing
