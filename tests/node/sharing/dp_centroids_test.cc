// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Noised centroids are charged first and reveal only where groups lie. A refusal costs nothing.

#include "node/sharing/dp_centroids.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/sharing/release_preview.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/reasons.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "tests/node/sharing/dp_centroids_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(DpCentroidsTest, AReleaseIsChargedOnceAndNotedAsSent) {
  Offer();
  ASSERT_EQ(Offered().size(), 1u);
  EXPECT_GT(Offered()[0].centroid[0], 0.9);
  EXPECT_EQ(Spent().reservations, 1u);
  EXPECT_EQ(Spent().unreleased, 0u);
  EXPECT_EQ(ledger_->totals(privacy::PrivacyUnit::kUser).reservations, 0u);
  const admin::v1::CentroidStatus view = centroids_->View();
  EXPECT_NEAR(view.spent_epsilon(), view.epsilon(), 1e-6);
  EXPECT_LE(view.epsilon(), 8);
  EXPECT_GT(view.epsilon(), 7);
  EXPECT_GE(view.predicted_snr(), 1);
  EXPECT_EQ(view.releases(), 1u);
  EXPECT_TRUE(view.refusal().empty());
  EXPECT_EQ(view.payload_bytes(), PatternItems()[0].payload->size());
}

// Every field that leaves is a constant, the time of the release, a cell's name, or noised.
TEST_F(DpCentroidsTest, NothingButTheDirectionDependsOnTheLessons) {
  Offer();
  ASSERT_EQ(Offered().size(), 1u);
  federation::SharedPattern one = Offered()[0];
  EXPECT_TRUE(one.cores.empty());
  EXPECT_EQ(one.examples, kLeast) << "how many there were is not noised";
  EXPECT_EQ(one.created_ms, clock_.WallMillis());
  EXPECT_TRUE(IsNoised(one));
  const federation::SharedPattern other =
      NoisedPatternOf({.cell = 3, .direction = one.centroid}, key_.id(), kLeast, one.created_ms);
  EXPECT_NE(other.id, one.id);
  one.id = other.id;
  EXPECT_EQ(one, other);
}

TEST_F(DpCentroidsTest, NoRawEmbeddingLeavesTheNode) {
  lessons_ = {};
  Random random(4);
  std::vector<float> middle(kCentroidDimension);
  middle[5] = 1;
  for (int i = 0; i < 100; ++i) {
    std::vector<float> lesson = middle;
    std::ranges::for_each(
        lesson, [&random](float& v) { v += 0.05F * static_cast<float>(random.Normal()); });
    lessons_.embeddings.push_back(lesson);
  }
  lessons_.contributors = {book_->ContributorOf({.user_id = "alice"})};
  const federation::Actions actions = Offer();
  ASSERT_THAT(Offered(), Not(IsEmpty()));
  for (const federation::Item& item : core_->Items()) {
    for (const std::vector<float>& lesson : lessons_.embeddings) {
      for (size_t i = 0; i + 1 < lesson.size(); ++i) {  // not even two of its values
        const std::string_view pair(reinterpret_cast<const char*>(&lesson[i]), 2 * sizeof(float));
        EXPECT_EQ(item.payload->find(pair), std::string::npos);
      }
    }
  }
}

TEST_F(DpCentroidsTest, IsOffUntilTheOperatorAsksForIt) {
  Open({.enabled = false});
  Offer();
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_FALSE(centroids_->Check().ok());
  EXPECT_EQ(asked_, 0) << "nobody looked at the lessons";
  EXPECT_FALSE(DpCentroidsOptions().enabled);
}

TEST_F(DpCentroidsTest, UnderOtherTiersNothingIsCharged) {
  for (const privacy::ConsentTier tier :
       {privacy::ConsentTier::kPrivate, privacy::ConsentTier::kMasked}) {
    SetTier(tier);
    Offer();
    EXPECT_THAT(Offered(), IsEmpty());
  }
  EXPECT_EQ(Spent().reservations, 0u);
}

TEST_F(DpCentroidsTest, MoreNoiseThanSignalIsRefusedWithTheFigureAndCostsNothing) {
  Open({.epsilon = 1});
  Offer();
  EXPECT_THAT(Offered(), IsEmpty());
  const admin::v1::CentroidStatus refused = centroids_->View();
  EXPECT_EQ(refused.refusal_reason(), reasons::kSignalTooWeak);
  EXPECT_THAT(refused.refusal(), HasSubstr("predicted signal of a centroid of 20 examples is 0."));
  EXPECT_THAT(refused.refusal(), HasSubstr("privacy.centroid_epsilon"));
  EXPECT_EQ(asked_, 0) << "nobody looked at the lessons";
  EXPECT_EQ(Spent().reservations, 0u);
}

TEST_F(DpCentroidsTest, FewerLessonsThanOneCentroidNeedsWaitWithoutACharge) {
  lessons_.embeddings.resize(kLeast - 1);
  Offer();
  EXPECT_EQ(centroids_->View().refusal_reason(), reasons::kSignalTooWeak);
  EXPECT_EQ(Spent().reservations, 0u);
  Teach("alice", 0, 100);
  Offer();
  EXPECT_EQ(Spent().reservations, 0u) << "not tried again at once";
  Wait(std::chrono::hours(1));
  Offer();
  EXPECT_EQ(Offered().size(), 1u);
}

TEST_F(DpCentroidsTest, ThePolicyAndTheBudgetDecide) {
  Open({.scope = "garden"});
  EXPECT_EQ(ReasonOf(centroids_->Check()), reasons::kScopeUnknown);
  Open({.scope = "ward"});
  EXPECT_EQ(ReasonOf(centroids_->Check()), reasons::kPolicyRefuses);
  Open({.lesson_epsilon = 0});
  EXPECT_EQ(ReasonOf(centroids_->Check()), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(Spent().reservations, 0u);
}

// A lesson is also in the contributions of its node to rounds.
TEST_F(DpCentroidsTest, WhatNoisedContributionsCostCountsForEachLesson) {
  Open({.lesson_epsilon = 9});
  ASSERT_TRUE(centroids_->Check().ok());
  privacy::LedgerCharge contribution{.unit = privacy::PrivacyUnit::kLesson,
                                     .mechanism = privacy::PrivacyMechanism::kSubsampledGaussian,
                                     .sigma = 1,
                                     .sampling_rate = 1,
                                     .delta = 1e-6,
                                     .round = 7};
  contribution.curve = privacy::dp::ZcdpCurve(0.5).value();
  contribution.epsilon = privacy::dp::EpsilonOf(contribution.curve, 1e-6)->value;
  ASSERT_TRUE(ledger_->Reserve(contribution).ok());
  EXPECT_EQ(ReasonOf(centroids_->Check()), reasons::kPrivacyBudgetSpent);
  EXPECT_NEAR(centroids_->View().spent_epsilon(), contribution.epsilon, 1e-9);
}

// A release costs what is configured as the ledger counts, so it fits a budget of that size.
TEST_F(DpCentroidsTest, AReleaseMayUseTheWholeBudget) {
  Open({.epsilon = 8, .lesson_epsilon = 8});
  ASSERT_TRUE(centroids_->Check().ok());
  Offer();
  EXPECT_EQ(Offered().size(), 1u);
  EXPECT_LE(SpentEpsilon(), 8);
  EXPECT_GT(SpentEpsilon(), 7.8);
  EXPECT_EQ(SpentEpsilon(), centroids_->View().epsilon());
}

TEST_F(DpCentroidsTest, ARestartNeitherChargesNorReleasesAgain) {
  Offer();
  ASSERT_EQ(Offered().size(), 1u);
  const std::vector<federation::SharedPattern> before = Offered();
  const double spent = SpentEpsilon();
  for (int i = 0; i < 3; ++i) {
    Open({});
    Start(PatternItems());
    EXPECT_THAT(removed_, IsEmpty());
    Offer();
    Wait(std::chrono::hours(2));
    Offer();
    EXPECT_EQ(Offered(), before);
    EXPECT_EQ(Spent().reservations, 1u);
    EXPECT_EQ(SpentEpsilon(), spent);
  }
}

TEST_F(DpCentroidsTest, EachReleaseReplacesTheLastAndWaitsTwiceAsLong) {
  Offer();
  const federation::SharedPattern first = Offered().at(0);
  Wait(kEvery - std::chrono::seconds(1));
  Offer();
  EXPECT_EQ(Spent().reservations, 1u);
  Wait(std::chrono::seconds(1));
  lessons_ = {};  // alice's lessons are gone
  Teach("bob", 7, 200);
  Offer();
  EXPECT_EQ(Spent().reservations, 2u);
  for (const federation::SharedPattern& pattern : Offered()) {
    EXPECT_GT(pattern.centroid[7], 0.9);
    EXPECT_GT(pattern.created_ms, first.created_ms);
  }
  ASSERT_THAT(Offered(), Not(IsEmpty()));
  Open({});
  Wait(kEvery);
  Offer();
  EXPECT_EQ(Spent().reservations, 2u);
  Wait(kEvery);
  Offer();
  EXPECT_EQ(Spent().reservations, 3u);
}

TEST_F(DpCentroidsTest, WithoutConsentAtTheReleaseNothingIsPaid) {
  Say("alice", 0);  // after her lessons were gathered
  Offer();
  EXPECT_EQ(centroids_->View().refusal_reason(), reasons::kConsentMissing);
  EXPECT_EQ(Spent().reservations, 0u);
}

// A preview shows what would leave, or why nothing would, and charges nothing.
TEST_F(DpCentroidsTest, APreviewSaysWhatWouldLeaveAndChargesNothing) {
  const auto preview = [&](privacy::ConsentTier tier) {
    return PreviewPatterns(
               {.tier = tier, .own = own_.get(), .centroids = centroids_.get(), .now = Now()})
        .value();
  };
  EXPECT_FALSE(preview(privacy::ConsentTier::kPrivate).has_centroids());
  EXPECT_FALSE(preview(privacy::ConsentTier::kPublic).has_centroids());
  const auto next = preview(privacy::ConsentTier::kDp);
  ASSERT_TRUE(next.has_centroids());
  EXPECT_EQ(next.centroids().refusal(), "");
  EXPECT_EQ(next.centroids().lessons(), 100u);
  EXPECT_EQ(next.centroids().contributors(), 1u);
  lessons_.embeddings.resize(kLeast - 1);
  EXPECT_EQ(preview(privacy::ConsentTier::kDp).centroids().refusal_reason(),
            reasons::kSignalTooWeak);
  Open({.enabled = false});
  EXPECT_THAT(preview(privacy::ConsentTier::kDp).centroids().refusal(),
              HasSubstr("privacy.centroids is off"));
  EXPECT_EQ(Spent().reservations, 0u);
  EXPECT_THAT(Offered(), IsEmpty());
}

}  // namespace
}  // namespace ruvd::sharing
