// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/release/centroid_release.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/privacy/release_fixture.h"

namespace ruvd::privacy {
namespace {

constexpr size_t kValues = 32;

// Sixty equal examples of a user who agreed.
class CentroidReleaseTest : public testing::Test {
 protected:
  CentroidReleaseTest() {
    terms_ = {.scope = "support",
              .centroids = dp::MakeCentroidTerms(1, kValues, 20).value(),
              .delta = 1e-6,
              .space = Sha256("a model")};
    example_.resize(kValues);
    example_[3] = 1;
  }

  absl::StatusOr<PreparedCentroids> Prepare(size_t examples = 60) {
    const std::vector<std::span<const float>> views(examples, example_);
    return PrepareCentroids(terms_, world_.Guards(),
                            {.embeddings = views, .contributors = world_.contributors});
  }
  // Nothing was charged and no noise drawn.
  void ExpectRefused(const absl::Status& status, std::string_view reason) {
    EXPECT_EQ(ReasonOf(status), reason) << status;
    EXPECT_TRUE(world_.events.empty());
    EXPECT_EQ(world_.ledger.spent, dp::RdpCurve());
  }

  ReleaseWorld world_;
  CentroidReleaseTerms terms_;
  std::vector<float> example_;
};

TEST_F(CentroidReleaseTest, IsReservedBeforeNoiseIsDrawnAndSpentBeforeItLeaves) {
  const PreparedCentroids prepared = Prepare().value();
  ASSERT_EQ(prepared.centroids.size(), 1U);
  EXPECT_GT(prepared.centroids.front().direction[3], 0.9);
  ASSERT_GT(world_.events.size(), 2U);
  EXPECT_EQ(world_.events.front(), "reserve");
  EXPECT_EQ(world_.events.back(), "spend");
  EXPECT_EQ(std::ranges::count(world_.events, "noise"),
            static_cast<int64_t>(world_.events.size()) - 2);
}

TEST_F(CentroidReleaseTest, AllPassesAndGroupsAreOneChargeOfTheUnitLesson) {
  ASSERT_TRUE(Prepare().ok());
  ASSERT_EQ(world_.ledger.charges.size(), 1U);
  const LedgerCharge charge = world_.ledger.charges.front();
  EXPECT_EQ(charge.unit, PrivacyUnit::kLesson);
  EXPECT_EQ(charge.mechanism, PrivacyMechanism::kDiscreteGaussian);
  const double pass = dp::GaussianRho(terms_.centroids.grid.NoiseMultiplier());
  const dp::RdpCurve curve = dp::ZcdpCurve(limits::kCentroidPasses * pass).value();
  EXPECT_EQ(charge.curve, curve);
  EXPECT_EQ(charge.round, 0U);
  EXPECT_EQ(charge.epsilon, dp::EpsilonOf(curve, 1e-6).value().value);
  EXPECT_EQ(charge, ChargeOf(terms_).value());
  EXPECT_EQ(world_.ledger.spent, curve);
  ASSERT_TRUE(Prepare().ok());  // releasing the same examples again costs again
  dp::RdpCurve twice = curve;
  twice += curve;
  EXPECT_EQ(world_.ledger.spent, twice);
}

TEST_F(CentroidReleaseTest, TheBudgetEndsBeforeNoise) {
  world_.ledger.budget.epsilon = ChargeOf(terms_).value().epsilon;
  ASSERT_TRUE(Prepare().ok());
  world_.events.clear();
  EXPECT_EQ(ReasonOf(Prepare().status()), reasons::kPrivacyBudgetSpent);
  EXPECT_TRUE(world_.events.empty());
}

TEST_F(CentroidReleaseTest, NothingLeavesWhereTheChargeIsNotSpentOnDisk) {
  world_.ledger.fail_spend = true;
  EXPECT_FALSE(Prepare().ok());
  EXPECT_NE(world_.ledger.spent, dp::RdpCurve());
}

TEST_F(CentroidReleaseTest, FewerExamplesThanOneGroupNeedsCostNothing) {
  ExpectRefused(Prepare(19).status(), reasons::kSignalTooWeak);
  ExpectRefused(Prepare(0).status(), reasons::kSignalTooWeak);
  // A release of twenty equal examples is not refused, so that a refusal cannot reveal the
  // twentieth; nothing of them leaves.
  EXPECT_TRUE(Prepare(20).value().centroids.empty());
}

TEST_F(CentroidReleaseTest, MoreNoiseThanSignalIsRefusedBeforeAnyDataIsLookedAt) {
  terms_.centroids = dp::MakeCentroidTerms(5, kValues, 20).value();
  ExpectRefused(Prepare().status(), reasons::kSignalTooWeak);
}

TEST_F(CentroidReleaseTest, EveryConsentIsAskedAtTheRelease) {
  world_.contributors.push_back({.user = "bob", .session = ""});
  ExpectRefused(Prepare().status(), reasons::kConsentMissing);
  world_.contributors.clear();
  ExpectRefused(Prepare().status(), reasons::kConsentMissing);
  world_.contributors = {{.user = "ann", .session = ""}};
  world_.now_ms = 5000;
  ExpectRefused(Prepare().status(), reasons::kConsentMissing);  // it has expired
}

TEST_F(CentroidReleaseTest, TheOperatorAndTheSitePolicyDecide) {
  for (const ConsentTier tier : {ConsentTier::kPrivate, ConsentTier::kMasked}) {
    world_.tier = tier;
    ExpectRefused(Prepare().status(), reasons::kConsentMissing);
  }
  world_.tier = ConsentTier::kDp;
  terms_.scope = "unlisted";
  ExpectRefused(Prepare().status(), reasons::kScopeUnknown);
}

TEST_F(CentroidReleaseTest, EmbeddingsOfAnotherSpaceAreRefused) {
  example_.push_back(0);
  ExpectRefused(Prepare().status(), reasons::kWrongDimension);
}

}  // namespace
}  // namespace ruvd::privacy
