// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests rounds whose unit is the whole node, and the limit of a node under another unit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/privacy_plan.h"
#include "node/sharing/local_contributor.h"
#include "privacy/dp/zcdp.h"
#include "privacy/reasons.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "tests/node/sharing/local_contributor_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NodeAsUnitTest : public LocalContributorTest {
 protected:
  void SetUp() override {
    LocalContributorTest::SetUp();
    UnitIsNode();
  }
  void UnitIsNode() {
    plan_.unit = PrivacyUnit::kNode;
    OpenLedger(PrivacyUnit::kNode);
  }
  // Lessons are the unit, and the node has a limit.
  void LimitNode(double epsilon) {
    node_epsilon_ = epsilon;
    plan_.unit = PrivacyUnit::kLesson;
    OpenLedger({PrivacyUnit::kLesson, PrivacyUnit::kNode});
  }
  double SpentByNode() const {
    return ledger_->LargestEpsilon(PrivacyUnit::kNode, kRoundDelta).value();
  }
  // Returns the norm of a contribution without noise, in units of the grid.
  double NormOfSum() {
    double squares = 0;
    for (const int32_t value : Made(ConsentTier::kPublic).contribution.units) {
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    return std::sqrt(squares);
  }
  // Returns the epsilon of rounds without sampling, and of one more at this rate.
  static double EpsilonOf(uint64_t rounds, double rate = 0) {
    const double rho = privacy::dp::GaussianRho(2);
    privacy::dp::RdpCurve curve = privacy::dp::SampledCurve(1, rho).value();
    curve *= rounds;
    if (rate > 0) {
      curve += privacy::dp::SampledCurve(rate, rho).value();
    }
    return privacy::dp::EpsilonOf(curve, kRoundDelta)->value;
  }
};

TEST_F(NodeAsUnitTest, AllLessonsOfTheNodeAreOneUnit) {
  Say("ann", ConsentTier::kDp);
  AddTexts("ann", 3, "ann");
  AddCompletion("ann");
  AddTexts("notes", 2);
  for (size_t round = 0; round < 3; ++round) {
    NextRound();
    const LocalContribution made = Made(ConsentTier::kDp);
    EXPECT_EQ(made.units, 1U);
    EXPECT_EQ(made.lessons, 6U + round);
    EXPECT_EQ(made.contributors.size(), 2U);
    EXPECT_EQ(made.sampling_rate, 1);
    AddTexts("later " + std::to_string(round), 1);
  }
  EXPECT_EQ(Spent(), EpsilonOf(3));
  ASSERT_TRUE(ledger_
                  ->ForEach([](const privacy::LedgerEntry& entry) {
                    EXPECT_EQ(entry.charge ? entry.charge->unit : PrivacyUnit::kNode,
                              PrivacyUnit::kNode);
                    return true;
                  })
                  .ok());
  // It joined when it began, so new lessons give it no further rounds.
  NextRound();
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kPrivacyBudgetSpent);
  EXPECT_THAT(message_, AllOf(HasSubstr("all its 3 rounds"), HasSubstr("privacy.rounds"),
                              HasSubstr(fmt::format("epsilon {:.3f} of 8.000", Spent()))));
  EXPECT_EQ(coins_, 0U) << "nothing is sampled in vain";
}

TEST_F(NodeAsUnitTest, ItsContributionIsOneClipNormWhateverItsLessons) {
  plan_.grid = {.exponent = -20, .clip_units = 256, .sigma_units = 512};
  plan_.clip_norm = std::ldexp(256, plan_.grid.exponent);  // shorter than any gradient
  AddTexts("notes", 12);
  const double whole = NormOfSum();
  EXPECT_LE(whole, 256);
  EXPECT_GT(whole, 230);
  AddTexts("more", 12);
  EXPECT_LE(NormOfSum(), 256);
  plan_.unit = PrivacyUnit::kLesson;
  EXPECT_GT(NormOfSum(), 300) << "every lesson adds up to a clip norm";
}

TEST_F(NodeAsUnitTest, ANodeOfManyLessonsComputesSomeOfThem) {
  AddTexts("notes", 20);
  NextRound();
  Made(ConsentTier::kDp);
  const size_t drawn = coins_;
  AddTexts("more", 20);
  NextRound();
  EXPECT_EQ(Made(ConsentTier::kDp).lessons, 40U);
  EXPECT_EQ(coins_, drawn) << "as many lessons are chosen and masked";
}

TEST_F(NodeAsUnitTest, TheSignalIsThatOfOneUnitOfSeveralLessons) {
  AddTexts("notes", 40);
  NextRound();
  const auto snr_with = [&](double signal) {
    return federation::PredictSnr(plan_, {.units = 1, .rounds = 3, .signal = signal}).value();
  };
  const double of_many = snr_with(federation::SignalOf(16, options_.signal));
  EXPECT_GT(of_many, 3 * snr_with(options_.signal));
  options_.min_snr = 1.01 * of_many;
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kSignalTooWeak);
  EXPECT_THAT(message_, AllOf(HasSubstr("all lessons as one unit"), HasSubstr("or add nodes")));
  options_.min_snr = 0.99 * of_many;
  EXPECT_EQ(Made(ConsentTier::kDp).units, 1U);
}

TEST_F(NodeAsUnitTest, WhatLessonsSpentIsSpentForTheNode) {
  LimitNode(kRoundEpsilon);
  AddTexts("notes", 3);
  NextRound();
  Made(ConsentTier::kDp);
  NextRound();
  Made(ConsentTier::kDp);
  node_epsilon_ = EpsilonOf(2) + 0.01;
  UnitIsNode();
  NextRound();
  EXPECT_EQ(SpentByNode(), EpsilonOf(2));
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kPrivacyBudgetSpent);
  EXPECT_THAT(message_, HasSubstr(fmt::format("what this node has spent from epsilon {:.3f}",
                                              SpentByNode())));
}

TEST_F(NodeAsUnitTest, ALimitRefusesARoundBeforeAGradientIsComputed) {
  LimitNode(EpsilonOf(2, 0.25));
  AddTexts("notes", 3);
  for (int round = 0; round < 2; ++round) {
    NextRound();
    Made(ConsentTier::kDp);
    AddTexts("later " + std::to_string(round), 3);
  }
  NextRound();
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kPrivacyBudgetSpent);
    EXPECT_THAT(
        message_,
        AllOf(HasSubstr(fmt::format("from epsilon {:.3f} to {:.3f}", EpsilonOf(2), EpsilonOf(3))),
              HasSubstr(fmt::format("budget of {:.3f}", node_epsilon_)),
              HasSubstr("privacy.node_epsilon")));
    EXPECT_EQ(coins_, 0U);
    OpenLedger({PrivacyUnit::kLesson, PrivacyUnit::kNode});
  }
  EXPECT_EQ(SpentByNode(), EpsilonOf(2));
  const privacy::v1::ReleaseStatus view = LocalContributor(options_).View(&plan_);
  EXPECT_EQ(view.node_spent_epsilon(), EpsilonOf(2));
  EXPECT_EQ(view.node_limit_epsilon(), node_epsilon_);
  EXPECT_TRUE(LocalContributor(options_).Check(plan_, ConsentTier::kDp).ok());
  // A smaller sample costs less, and this one fits.
  options_.max_batch = 1;
  EXPECT_LT(Made(ConsentTier::kDp).sampling_rate, 0.25);
  EXPECT_LE(SpentByNode(), node_epsilon_);
  // A limit that is passed already refuses the tier itself, whatever the lessons are.
  LimitNode(EpsilonOf(1));
  const absl::Status passed = LocalContributor(options_).Check(plan_, ConsentTier::kDp);
  EXPECT_EQ(ReasonOf(passed), reasons::kPrivacyBudgetSpent);
  EXPECT_TRUE(LocalContributor(options_).Check(plan_, ConsentTier::kPublic).ok());
}

// What left under the unit node would otherwise be hidden from who withdraws later.
TEST_F(NodeAsUnitTest, WhatLeftUnderItIsSaidAfterAChangeOfTheUnit) {
  AddTexts("notes", 3);
  NextRound();
  Made(ConsentTier::kDp);
  plan_.unit = PrivacyUnit::kLesson;
  OpenLedger(PrivacyUnit::kLesson);
  const privacy::v1::ReleaseStatus view = LocalContributor(options_).View(&plan_);
  EXPECT_EQ(view.unit(), privacy::v1::PRIVACY_UNIT_LESSON);
  EXPECT_EQ(view.releases(), 1U);
  EXPECT_EQ(view.node_limit_epsilon(), 0);
  EXPECT_GT(view.spent_epsilon(), EpsilonOf(1)) << "a lesson pays for a replacement of the node";
}

TEST_F(NodeAsUnitTest, WithoutALimitTheNodeOnlyCounts) {
  LimitNode(kRoundEpsilon);
  OpenLedger(PrivacyUnit::kLesson);
  AddTexts("notes", 3);
  for (int round = 0; round < 12; ++round) {
    NextRound();
    Made(ConsentTier::kDp);
    AddTexts("later " + std::to_string(round), 3);
  }
  EXPECT_GT(SpentByNode(), kRoundEpsilon);
  EXPECT_LE(Spent(), kRoundEpsilon);
}

}  // namespace
}  // namespace ruvd::sharing
