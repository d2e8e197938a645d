// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/node_rounds.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "privacy/consent/consent.h"
#include "privacy/identity/node_key.h"
#include "privacy/identity/revocation_list.h"
#include "storage/reasons.h"
#include "tests/federation/fixture.h"
#include "tests/federation/learner_fixture.h"
#include "tests/federation/test_peer.h"
#include "tests/node/sharing/node_rounds_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SharingRoundsTest, GivesOneContributionARound) {
  SetTier(privacy::ConsentTier::kPublic);
  for (int i = 0; i < 3; ++i) {
    const auto work = RunUntilWork(2 * RoundLength());
    ASSERT_TRUE(work.has_value());
    EXPECT_EQ(work->round, Round());
    EXPECT_EQ(work->tier, privacy::ConsentTier::kPublic);
    EXPECT_EQ(work->nodes, 1U);
    End(*work, Made(*work));
  }
  EXPECT_THAT(Offered(), ElementsAre(Round() - 2, Round() - 1, Round()));
  EXPECT_EQ(View().last_round(), Round());
  EXPECT_THAT(sent_, IsEmpty()) << "nothing was charged";
}

TEST_F(SharingRoundsTest, HasNothingToDoUnderTheTierPrivate) {
  EXPECT_FALSE(RunUntilWork(2 * RoundLength()).has_value());
}

TEST_F(SharingRoundsTest, HasOnePieceOfWorkAtATime) {
  SetTier(privacy::ConsentTier::kPublic);
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  EXPECT_FALSE(RunUntilWork(3 * RoundLength()).has_value()) << "the first piece still runs";
  End(*work, std::nullopt);
  EXPECT_EQ(View().refusal_reason(), reasons::kConsentMissing);
  EXPECT_TRUE(RunUntilWork(2 * RoundLength()).has_value());
}

TEST_F(NoisedSharingRoundsTest, MarksAChargeAsSentOnceItIsOffered) {
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  End(*work, Made(*work, 0.5, 11));
  EXPECT_THAT(Offered(), ElementsAre(work->round));
  EXPECT_THAT(sent_, ElementsAre(11));
}

TEST_F(NoisedSharingRoundsTest, AConsentThatEndsMeanwhileKeepsItHere) {
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  agrees_ = false;
  End(*work, Made(*work, 0.5, 11));
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(View().refusal_reason(), reasons::kChanged);
  EXPECT_THAT(View().refusal(), HasSubstr("epsilon 0.500 stays charged"));
}

TEST_F(SharingRoundsTest, LessonsThatChangeMeanwhileKeepItHere) {
  SetTier(privacy::ConsentTier::kPublic);
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  rounds_->OnSharingChanged();
  End(*work, Made(*work));
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_EQ(View().refusal_reason(), reasons::kChanged);
}

TEST_F(NoisedSharingRoundsTest, PeopleWhoCannotBeRecordedKeepItHere) {
  records_ = false;
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  End(*work, Made(*work, 0.5, 11));
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(View().refusal_reason(), reasons::kChanged);
  EXPECT_EQ(View().last_round(), 0U);
}

TEST_F(SharingRoundsTest, WithdrawnLessonsTakePlainContributionsBack) {
  SetTier(privacy::ConsentTier::kPublic);
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  End(*work, Made(*work));
  ASSERT_THAT(Offered(), ElementsAre(work->round));
  Perform(rounds_->OnLessonsWithdrawn(node_.core()));
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_FALSE(rounds_->cluster().HasOwn(work->round));
}

TEST_F(NoisedSharingRoundsTest, WithdrawnLessonsLeaveNoisedContributions) {
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  End(*work, Made(*work, 0.5, 11));
  Perform(rounds_->OnLessonsWithdrawn(node_.core()));
  EXPECT_THAT(Offered(), ElementsAre(work->round));
}

TEST_F(NoisedSharingRoundsTest, AnOfferThatTheCoreRefusesIsNotMarkedAsSent) {
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  auto left = node_.core().SetConsent(
      privacy::ConsentRecord::Sign(privacy::ConsentTier::kPrivate, Now().wall_ms, node_.key()),
      Now());
  ASSERT_TRUE(left.ok());
  Perform(*left);
  End(*work, Made(*work, 0.5, 11));
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_NE(View().refusal(), "");
}

// ---- The adapter

TEST_F(SharingRoundsTest, JudgesTheAdapterOnceARoundChangedIt) {
  ASSERT_TRUE(RunUntilWork<ContributionWork>(2 * RoundLength()) == std::nullopt);
  OtherGives();
  const auto work = RunUntilWork<JudgementWork>(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  EXPECT_TRUE(rounds_->cluster().StateBefore(Round()).last_part.contains(other_));
  EXPECT_TRUE(rounds_->EndJudgement(*work));
}

// The judged state contains a part of the member, so it must not be served.
TEST_F(SharingRoundsTest, AJudgementOverAnExclusionIsVoid) {
  const auto first = RunUntilWork<JudgementWork>(RoundLength());
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(rounds_->EndJudgement(*first));
  OtherGives();
  const auto work = RunUntilWork<JudgementWork>(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  const auto list = privacy::RevokeNodes({}, {other_}, Now().wall_ms,
                                         privacy::ClusterAuthority::FromSeed(test::SeedOf(1000)));
  ASSERT_TRUE(list.ok()) << list.status();
  auto revoked = node_.core().SetRevocations(*list, Now());
  ASSERT_TRUE(revoked.ok()) << revoked.status();
  EXPECT_TRUE(rounds_->ExcludeExpelled(node_.core()));
  EXPECT_FALSE(rounds_->EndJudgement(*work));
  const auto again = RunUntilWork<JudgementWork>(RoundLength());
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(rounds_->cluster().StateBefore(Round()).last_part.contains(other_));
  EXPECT_TRUE(rounds_->EndJudgement(*again));
}

// ---- Verdicts

class JudgingSharingRoundsTest : public SharingRoundsTest {
 protected:
  static federation::LearnerPlan Plan() {
    federation::LearnerPlan plan = test::DeltaPlan();
    plan.strategy.strategy = federation::Strategy::kQualityWeighted;
    return plan;
  }
  JudgingSharingRoundsTest() : SharingRoundsTest(Plan()) { SetTier(privacy::ConsentTier::kPublic); }
  // Runs until a verdict on the other member's contribution is due.
  std::optional<VerdictWork> RunUntilVerdict() {
    const auto contribution = RunUntilWork(2 * RoundLength());
    EXPECT_TRUE(contribution.has_value());
    OtherGives();
    End(*contribution, std::nullopt);
    for (int i = 0; i < 4; ++i) {
      const auto work = RunUntilAnyWork(2 * RoundLength());
      if (work && std::holds_alternative<VerdictWork>(*work)) {
        return std::get<VerdictWork>(*work);
      }
      if (work && std::holds_alternative<ContributionWork>(*work)) {
        End(std::get<ContributionWork>(*work), std::nullopt);
      } else if (work) {
        rounds_->EndJudgement(std::get<JudgementWork>(*work));
      }
    }
    return std::nullopt;
  }
  MeasuredVerdict Measured(const VerdictWork& work) const {
    const federation::RoundContribution& of = work.judged->contributions.front();
    return {.verdict = test::SomeVerdict(*plan_, of, 0, 0.25F).verdict,
            .lessons = 3,
            .contributors = {{.user = "ann", .session = ""}}};
  }
};

TEST_F(JudgingSharingRoundsTest, JudgesWhatOthersGaveToTheRoundBefore) {
  const auto work = RunUntilVerdict();
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->judged->round, Round() - 1);
  ASSERT_EQ(work->judged->contributions.size(), 1U);
  Follow(rounds_->EndVerdict(*work, Measured(*work), node_.core(), Now()));
  EXPECT_THAT(Offered(federation::ItemKind::kVerdict), ElementsAre(work->judged->round));
  EXPECT_EQ(View().last_judged(), 1U);
}

TEST_F(JudgingSharingRoundsTest, AVerdictOfLessonsThatChangedMeanwhileStaysHere) {
  const auto work = RunUntilVerdict();
  ASSERT_TRUE(work.has_value());
  rounds_->OnSharingChanged();
  Follow(rounds_->EndVerdict(*work, Measured(*work), node_.core(), Now()));
  EXPECT_THAT(Offered(federation::ItemKind::kVerdict), IsEmpty());
  EXPECT_EQ(View().verdict_refusal_reason(), reasons::kChanged);
}

TEST_F(JudgingSharingRoundsTest, EachKindOfWorkHasItsTurnWhereRoundsAreShort) {
  std::vector<size_t> kinds(std::variant_size_v<RoundWork>);
  for (int i = 0; i < 12; ++i) {
    OtherGives();
    const auto work = RunUntilAnyWork(2 * RoundLength());
    ASSERT_TRUE(work.has_value());
    ++kinds[work->index()];
    node_.Advance(RoundLength());  // every piece of work outlasts its round
    EXPECT_FALSE(RunUntilAnyWork(kStep).has_value());
    if (const auto* contribution = std::get_if<ContributionWork>(&*work)) {
      End(*contribution, std::nullopt);
    } else if (const auto* verdict = std::get_if<VerdictWork>(&*work)) {
      Follow(
          rounds_->EndVerdict(*verdict, absl::UnavailableError("no lessons"), node_.core(), Now()));
    } else {
      rounds_->EndJudgement(std::get<JudgementWork>(*work));
    }
  }
  EXPECT_GE(kinds[RoundWork(ContributionWork()).index()], 3U);
  EXPECT_GE(kinds[RoundWork(VerdictWork()).index()], 3U);
  EXPECT_GE(kinds[RoundWork(JudgementWork()).index()], 3U);
}

// ---- Masked sums

class MaskedSharingRoundsTest : public SharingRoundsTest {
 protected:
  MaskedSharingRoundsTest() : SharingRoundsTest(test::GradientPlan()) {
    SetTier(privacy::ConsentTier::kMasked);
  }
};

TEST_F(MaskedSharingRoundsTest, AnnouncesItselfOnceItHasLessons) {
  auto work = RunUntilWork<SumWork>(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  EXPECT_FALSE(work->work.sum) << "no group has formed yet";
  rounds_->EndSum(*work, absl::FailedPreconditionError("no lessons"), Duration{});
  EXPECT_EQ(View().refusal(), "no lessons");
  EXPECT_THAT(Offered(federation::ItemKind::kMaskKey), IsEmpty());
  work = RunUntilWork<SumWork>(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  rounds_->EndSum(*work, std::nullopt, Duration{});
  RunUntilWork<SumWork>(RoundLength());
  EXPECT_THAT(Offered(federation::ItemKind::kMaskKey), testing::Not(IsEmpty()));
}

}  // namespace
}  // namespace ruvd::sharing
