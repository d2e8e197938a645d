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

namespace ruvd::sharing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Duration kStep = std::chrono::milliseconds(200);

// One node with a real core, whose clock the test turns.
class SharingRoundsTest : public testing::Test {
 protected:
  explicit SharingRoundsTest(federation::LearnerPlan plan = test::DeltaPlan())
      : plan_(std::make_shared<const federation::LearnerPlan>(std::move(plan))),
        node_(0, [this](federation::GossipConfig& config) { config.plan = plan_; }) {
    Start();
  }

  federation::Instant Now() const {
    federation::Instant now = node_.now();
    now.wall_ms += ahead_ms_;
    return now;
  }
  uint64_t Round() const { return RoundAt(*plan_, Now().wall_ms); }
  void Start() {
    NodeRoundsOptions options;
    options.plan = plan_;
    options.cluster = test::Authority().cluster_id();
    options.self = node_.key().id();
    options.random = test::EntropyOf(7);
    options.save = [this](std::string state) { saved_ = std::move(state); };
    options.release = [](const PreparedSum&,
                         const privacy::masking::Clique&) -> absl::StatusOr<ReleasedShare> {
      return absl::UnavailableError("no");
    };
    options.last_reservation = [] { return uint64_t{0}; };
    options.may_leave = [this](std::span<const privacy::Contributor>, privacy::ConsentTier) {
      return agrees_;
    };
    options.record = [this](federation::Actions offered, std::vector<privacy::Contributor>,
                            federation::GossipCore& core) {
      return records_ ? std::move(offered) : TakenBack(offered, core);
    };
    rounds_ = NodeRounds::Create(std::move(options), saved_, Now()).value();
  }
  // What OwnPatterns does if it cannot record who contributed.
  static federation::Actions TakenBack(const federation::Actions& offered,
                                       federation::GossipCore& core) {
    std::vector<Digest> ids;
    for (const federation::Action& action : offered) {
      if (const auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
        ids.push_back(accepted->item.id);
      }
    }
    return core.WithdrawItems(ids);
  }
  void SetTier(privacy::ConsentTier tier) {
    auto changed = node_.core().SetConsent(
        privacy::ConsentRecord::Sign(tier, Now().wall_ms, node_.key()), Now());
    ASSERT_TRUE(changed.ok()) << changed.status();
    Perform(*std::move(changed));
    rounds_->OnSharingChanged();
  }
  void Perform(const federation::Actions& actions) {
    for (const federation::Action& action : actions) {
      if (const auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
        EXPECT_TRUE(rounds_->OnItem(accepted->item).ok());
      } else if (const auto* withdrawn = std::get_if<federation::ItemWithdrawn>(&action)) {
        rounds_->OnWithdrawn(withdrawn->item);
      }
    }
  }
  void Follow(RoundsOutput output) {
    Perform(output.actions);
    sent_.insert(sent_.end(), output.sent.begin(), output.sent.end());
    EXPECT_FALSE(output.work.has_value());
  }
  // Lets time pass until the node wants to compute something, for this long at most.
  std::optional<RoundWork> RunUntilAnyWork(Duration at_most) {
    for (Duration passed{}; passed < at_most; passed += kStep) {
      node_.Advance(kStep);
      RoundsOutput output = rounds_->OnTick(node_.core(), 0, Now());
      std::optional<RoundWork> work = std::exchange(output.work, std::nullopt);
      Follow(std::move(output));
      if (work) {
        return work;
      }
    }
    return std::nullopt;
  }
  // Does the same until it wants to compute a W. Judgements of others end at once.
  template <typename W = ContributionWork>
  std::optional<W> RunUntilWork(Duration at_most) {
    const TimePoint end = node_.now().now + at_most;
    while (node_.now().now < end) {
      const std::optional<RoundWork> work = RunUntilAnyWork(end - node_.now().now);
      if (work && std::holds_alternative<W>(*work)) {
        return std::get<W>(*work);
      }
      if (work) {
        EXPECT_TRUE(rounds_->EndJudgement(std::get<JudgementWork>(*work)));
      }
    }
    return std::nullopt;
  }
  // Another member's contribution to the running round arrives.
  void OtherGives() {
    Random random(Round());
    const federation::RoundContribution given =
        test::SomeContribution(*plan_, Round(), 1, "other", random);
    ASSERT_TRUE(rounds_
                    ->OnItem({.id = given.id,
                              .kind = federation::ItemKind::kContribution,
                              .origin = other_,
                              .round = Round(),
                              .created_ms = Now().wall_ms,
                              .expires_ms = Now().wall_ms + test::kDayMillis,
                              .envelope = nullptr,
                              .payload = std::make_shared<const std::string>(
                                  EncodeContribution(given.contribution, *plan_))})
                    .ok());
  }
  Duration RoundLength() const { return std::chrono::milliseconds(plan_->round_ms); }
  LocalContribution Made(const ContributionWork& work, double epsilon = 0,
                         uint64_t reservation = 0) const {
    Random random(work.round);
    LocalContribution made{
        .contribution = test::SomeContribution(*plan_, work.round, 0, "it", random).contribution,
        .reservation = reservation,
        .lessons = 3,
        .epsilon = epsilon,
        .contributors = {{.user = "ann", .session = ""}}};
    made.contribution.noise = epsilon > 0 ? federation::Contribution::Noise::kWhole
                                          : federation::Contribution::Noise::kNone;
    return made;
  }
  void End(const ContributionWork& work, absl::StatusOr<std::optional<LocalContribution>> made) {
    Follow(rounds_->EndContribution(work, std::move(made), node_.core(), Now()));
  }
  // The rounds of contributions, or other items, that peers can get, in order.
  std::vector<uint64_t> Offered(federation::ItemKind kind = federation::ItemKind::kContribution) {
    std::vector<uint64_t> rounds;
    for (const federation::Item& item : node_.core().Items()) {
      if (item.kind == kind) {
        rounds.push_back(item.round);
      }
    }
    std::ranges::sort(rounds);
    return rounds;
  }
  admin::v1::RoundsStatus View() {
    admin::v1::RoundsStatus view;
    rounds_->Write(&view);
    return view;
  }

  std::shared_ptr<const federation::LearnerPlan> plan_;
  test::CoreUnderTest node_;
  const privacy::NodeId other_ = privacy::NodeKey::FromSeed(test::SeedOf(1)).id();
  std::unique_ptr<NodeRounds> rounds_;
  std::string saved_;
  std::vector<uint64_t> sent_;
  int64_t ahead_ms_ = 0;  // of the wall clock
  bool agrees_ = true;    // the people whose lessons are in it
  bool records_ = true;   // their names can be recorded
};

class NoisedSharingRoundsTest : public SharingRoundsTest {
 protected:
  NoisedSharingRoundsTest() : SharingRoundsTest(test::GradientPlan()) {
    SetTier(privacy::ConsentTier::kDp);
  }
};

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
                                         privacy::SigningKey::FromSeed(test::SeedOf(1000)));
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

// ---- Clocks

TEST_F(SharingRoundsTest, TriesNothingInTheRoundToWhichTheClockLeapt) {
  SetTier(privacy::ConsentTier::kPublic);
  auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  End(*work, Made(*work));
  ahead_ms_ = 5 * plan_->round_ms;
  const uint64_t leapt_to = Round();
  work = RunUntilWork(3 * RoundLength());
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->round, leapt_to + 1);
}

// A process that stood still finds its monotonic clock ahead by as much as the wall clock.
TEST_F(SharingRoundsTest, TakesPartAtOnceAfterTheProcessStoodStill) {
  SetTier(privacy::ConsentTier::kPublic);
  auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  End(*work, Made(*work));
  node_.Advance(5 * RoundLength());
  const uint64_t woke_in = RoundAt(*plan_, (Now().wall_ms + 200));
  work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->round, woke_in);
}

TEST_F(SharingRoundsTest, TriesARoundAgainOnceTheClockWasSetBack) {
  ahead_ms_ = 3 * plan_->round_ms;
  Start();
  SetTier(privacy::ConsentTier::kPublic);
  auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  const uint64_t ahead = work->round;
  End(*work, std::nullopt);
  ahead_ms_ = 0;
  std::vector<uint64_t> tried;
  while (tried.empty() || tried.back() < ahead) {
    work = RunUntilWork(2 * RoundLength());
    ASSERT_TRUE(work.has_value());
    tried.push_back(work->round);
    End(*work, std::nullopt);
  }
  EXPECT_THAT(tried, ElementsAre(ahead - 2, ahead - 1, ahead));
}

TEST_F(NoisedSharingRoundsTest, OffersNothingForARoundThatIsStillToCome) {
  ahead_ms_ = 3 * plan_->round_ms;
  Start();
  const auto work = RunUntilWork(2 * RoundLength());
  ASSERT_TRUE(work.has_value());
  ahead_ms_ = 0;
  EXPECT_FALSE(RunUntilWork(kStep).has_value());
  End(*work, Made(*work, 0.5, 11));
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_THAT(View().refusal(), HasSubstr("the clock was set back"));
  EXPECT_THAT(View().refusal(), HasSubstr("epsilon 0.500 stays charged"));
}

// ---- Restarts

TEST_F(SharingRoundsTest, ContinuesFromTheSavedState) {
  SetTier(privacy::ConsentTier::kPublic);
  for (uint32_t i = 0; i < 2 * plan_->window + 2; ++i) {
    const auto work = RunUntilWork(2 * RoundLength());
    ASSERT_TRUE(work.has_value());
    End(*work, Made(*work));
  }
  const federation::GlobalState settled = rounds_->cluster().StateBefore(0);
  ASSERT_FALSE(settled.last_part.empty());
  ASSERT_FALSE(saved_.empty());
  Start();
  EXPECT_FALSE(rounds_->cluster().is_new());
  EXPECT_EQ(rounds_->cluster().StateBefore(0).values, settled.values);
}

TEST_F(SharingRoundsTest, BeginsAnewWhereTheSavedStateIsDamaged) {
  saved_ = "damaged";
  Start();
  EXPECT_TRUE(rounds_->cluster().is_new());
}

}  // namespace
}  // namespace ruvd::sharing
