// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests when a node contributes nothing to a round, and that this costs nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "node/sharing/local_contributor.h"
#include "privacy/reasons.h"
#include "storage/reasons.h"
#include "tests/node/sharing/local_contributor_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::HasSubstr;

TEST_F(LocalContributorTest, AClockThatWentBackIsNoticed) {
  AddTexts("notes", 2);
  NextRound();
  NextRound();
  Made(ConsentTier::kDp);
  const size_t noise = std::exchange(noise_, 0);
  clock_.StepWall(-2 * plan_.round_ms);
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kInvalidArgument);
  EXPECT_THAT(message_, HasSubstr("correct the clock"));
  EXPECT_GT(noise, 0U);
}

TEST_F(LocalContributorTest, AFailingDiskReleasesNothing) {
  AddTexts("notes", 2);
  NextRound();
  writes_left_ = 0;  // the counter cannot be raised
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kDiskFull);
  writes_left_ = 2;  // the charge is written, and what it is spent on is not
  const auto made = Make(ConsentTier::kDp);
  EXPECT_EQ(ReasonOf(made.status()), reasons::kDiskFull);
  EXPECT_THAT(MessageOf(made.status()), HasSubstr("stays"));
  EXPECT_GT(noise_, 0U);
  EXPECT_GT(Spent(), 0);
  writes_left_ = 1'000'000;
  EXPECT_EQ(ReasonOf(Make(ConsentTier::kDp).status()), reasons::kPrivacyBudgetSpent)
      << "the round stays paid";
}

TEST_F(LocalContributorTest, AWithdrawalMeanwhileEndsTheRound) {
  Say("ann", ConsentTier::kDp);
  AddTexts("notes", 2, "ann");
  AddTexts("others", 2);
  NextRound();
  int polls = 0;
  cancelled_ = [&] {
    if (++polls == 5) {  // after the lessons were chosen
      clock_.Advance(std::chrono::milliseconds(1));
      EXPECT_TRUE(book_->Withdraw("ann", clock_.WallMillis()).ok());
    }
    return false;
  };
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kChanged);
  EXPECT_GT(polls, 5);
  EXPECT_EQ(ledger_->head().sequence, 0U);
  cancelled_ = nullptr;
  EXPECT_EQ(Made(ConsentTier::kDp).units, 2U) << "the others may still take part";
}

TEST_F(LocalContributorTest, AWithdrawnTextEndsTheRound) {
  for (const ContributionKind kind : {ContributionKind::kDelta, ContributionKind::kGradient}) {
    plan_ = PlanOf(kind);
    const storage::LessonSourceId source = AddTexts("notes", 2);
    AddTexts("others", 2);
    int polls = 0;
    cancelled_ = [&] {
      if (++polls == 5) {
        EXPECT_TRUE(lessons_->WithdrawSource(source).ok());
      }
      return false;
    };
    EXPECT_EQ(Refusal(ConsentTier::kPublic), reasons::kChanged);
    EXPECT_GT(polls, 5);
  }
}

TEST_F(LocalContributorTest, EndsWhenLearningEnds) {
  AddTexts("notes", 3);
  NextRound();
  int polls = 0;
  cancelled_ = [&] { return ++polls > 4; };
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kCancelled);
  EXPECT_EQ(ledger_->head().sequence, 0U);
}

TEST_F(LocalContributorTest, NothingLeavesWithoutLessonsOrConsent) {
  for (const ConsentTier tier : {ConsentTier::kPublic, ConsentTier::kDp}) {
    EXPECT_EQ(Make(tier).value(), std::nullopt);
  }
  AddLessonsThatStay();
  NextRound();
  for (const ConsentTier tier : {ConsentTier::kPublic, ConsentTier::kDp}) {
    EXPECT_EQ(Make(tier).value(), std::nullopt);
  }
  AddTexts("notes", 1);
  EXPECT_EQ(Make(ConsentTier::kPrivate).value(), std::nullopt);
  EXPECT_EQ(ledger_->head().sequence, 0U);
}

TEST_F(LocalContributorTest, RefusalsSayWhatToDo) {
  AddTexts("notes", 2);
  NextRound();
  EXPECT_EQ(Refusal(ConsentTier::kMasked), reasons::kInvalidArgument);
  plan_ = PlanOf(ContributionKind::kDelta);
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kInvalidArgument);
  EXPECT_THAT(message_, HasSubstr("`federation.contributions`"));
  EXPECT_THAT(message_, HasSubstr("\"gradient\""));
  plan_ = PlanOf(ContributionKind::kGradient);
  plan_.unit = PrivacyUnit::kUser;
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kPrivacyBudgetSpent);
  plan_ = PlanOf(ContributionKind::kGradient);
  plan_.grid.sigma_units = 0;
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kInvalidArgument);
  plan_ = PlanOf(ContributionKind::kGradient);
  plan_.frame_id.fill(3);
  EXPECT_EQ(Refusal(ConsentTier::kPublic), reasons::kPlanMismatch);
  plan_ = PlanOf(ContributionKind::kGradient);
  options_.min_snr = 1;
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kSignalTooWeak);
  EXPECT_THAT(message_, HasSubstr("3 rounds"));
  EXPECT_EQ(ledger_->head().sequence, 0U);
}

TEST_F(LocalContributorTest, TheSiteAndTheLedgerMayRefuse) {
  AddTexts("notes", 2);
  NextRound();
  LocalContributorOptions good = options_;
  options_.scope = "ward";
  EXPECT_EQ(Refusal(ConsentTier::kPublic), reasons::kScopeUnknown);
  options_ = good;
  options_.policy = privacy::SitePolicy::Parse(
                        "version = 1\n[scope.lab]\ntiers = [\"dp\"]\n"
                        "purposes = [\"training\", \"sharing\"]\n")
                        .value();
  EXPECT_EQ(Refusal(ConsentTier::kPublic), reasons::kPolicyRefuses);
  options_ = good;
  options_.ledger = nullptr;
  options_.unavailable =
      Error(absl::StatusCode::kDataLoss, reasons::kLedgerBroken, "the ledger has a gap");
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kLedgerBroken);
  EXPECT_TRUE(Make(ConsentTier::kPublic)->has_value()) << "what is open needs no ledger";
  options_.frame = nullptr;
  EXPECT_EQ(Refusal(ConsentTier::kPublic), reasons::kFrameMismatch);
}

// Found by review: once full of lessons that still took part, a node never contributed again,
// because without charges nothing retires.
TEST_F(LocalContributorTest, AFullStoreStillTakesPartWhileFeedbackComes) {
  OpenTrajectories(/*capacity=*/8);
  for (int i = 0; i < 10; ++i) {
    AddCompletion("");
  }
  for (const ConsentTier tier : {ConsentTier::kDp, ConsentTier::kPublic}) {
    NextRound();
    int polls = 0;
    cancelled_ = [&] {
      if (++polls == 12) {  // after the lessons were chosen
        AddCompletion("");
      }
      return false;
    };
    EXPECT_EQ(Made(tier).units, 4U) << "the newest half stays during a round";
    EXPECT_GT(polls, 12);
    cancelled_ = nullptr;
  }
}

}  // namespace
}  // namespace ruvd::sharing
