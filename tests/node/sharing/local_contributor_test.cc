// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a node contributes to a round, with real stores, a real ledger and a real model.

#include "node/sharing/local_contributor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/rounds.h"
#include "federation/reasons.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/sharing/lesson_trainer.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/reasons.h"
#include "storage/reasons.h"
#include "tests/node/node_fixture.h"
#include "tests/node/sharing/round_lessons_fixture.h"

namespace ruvd::sharing {
namespace {

using federation::Contribution;
using federation::ContributionKind;
using federation::GlobalState;
using federation::LearnerPlan;
using privacy::ConsentTier;
using privacy::PrivacyUnit;
using testing::HasSubstr;

constexpr double kDelta = 1e-6;
constexpr double kEpsilon = 8;

class LocalContributorTest : public RoundLessonsTest {
 protected:
  void SetUp() override {
    RoundLessonsTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    frame_ = std::make_shared<const inference::FrameSet>(
        inference::RandomFrameSet(
            *model_, inference::LinearTargets(*model_, inference::Modules::kQv, 2), 2, 1)
            .value());
    plan_ = PlanOf(ContributionKind::kGradient);
    OpenLedger(PrivacyUnit::kLesson);
  }
  // Every lesson may take part in three rounds, which cost less than its budget without sampling.
  void OpenLedger(PrivacyUnit unit) {
    ledger_.reset();
    privacy::UnitBudget budget = privacy::UnitBudget::Within(unit, kEpsilon, kDelta).value();
    budget.rounds = 3;
    ledger_ = storage::PrivacyLedgerStore::Open(
                  *database_, {.budgets = {budget},
                               .key = &key_,
                               .counter_file = (folder_ / "counter").string(),
                               .write_file =
                                   [this](const std::string& path, std::string_view text) {
                                     return writes_left_-- > 0
                                                ? WriteFileAtomically(path, text, 0600)
                                                : absl::Status(Error(absl::StatusCode::kUnavailable,
                                                                     reasons::kDiskFull, "full"));
                                   }})
                  .value();
    options_ = {.frame = frame_,
                .policy = privacy::SitePolicy::Parse("version = 1\n[scope.lab]\n"
                                                     "tiers = [\"masked\", \"dp\", \"public\"]\n"
                                                     "purposes = [\"training\", \"sharing\"]\n")
                              .value(),
                .scope = "lab",
                .budgets = {budget},
                .ledger = ledger_.get(),
                .random = Counted(),
                .min_snr = 0};
  }
  // Notes how many bytes were drawn before and after the ledger had an entry.
  privacy::dp::RandomBytes Counted() {
    return [this, entropy = test::EntropyOf(++seed_)](std::span<uint8_t> out) mutable {
      (ledger_->head().sequence == before_ ? coins_ : noise_) += out.size();
      entropy(out);
    };
  }
  LearnerPlan PlanOf(ContributionKind kind) const {
    const auto shape = CoreShapeOf(*frame_, 2, {0.5F}).value();
    LearnerPlan plan;
    plan.frame_id = frame_->id;
    plan.rank = 2;
    plan.boundaries = {0.5F};
    plan.values_per_bank = static_cast<uint32_t>(shape.values_per_bank());
    plan.kind = kind;
    plan.local = {.learning_rate = 3e-3, .steps = 2, .batch = 2};
    plan.grid = {.exponent = -7, .clip_units = 256, .sigma_units = 512};
    EXPECT_TRUE(plan.Check().ok()) << plan.Check();
    return plan;
  }
  uint64_t Round() const { return RoundAt(plan_, clock_.WallMillis()); }
  void NextRound() {
    clock_.Advance(std::chrono::milliseconds(plan_.round_ms));
    coins_ = noise_ = 0;
    before_ = ledger_->head().sequence;
  }
  absl::StatusOr<std::optional<LocalContribution>> Make(ConsentTier tier) {
    learning::LearningServices services = Services();
    services.transformer = transformer_.get();
    state_ = federation::EmptyState(plan_, Round());
    return LocalContributor(options_).Make(
        services, {.plan = &plan_, .round = Round(), .base = &state_, .tier = tier});
  }
  // Returns a contribution that must come and be valid.
  LocalContribution Made(ConsentTier tier) {
    const auto made = Make(tier);
    EXPECT_TRUE(made.ok() && made->has_value()) << made.status();
    if (!made.ok() || !made->has_value()) {
      return {};
    }
    EXPECT_TRUE(CheckContribution((*made)->contribution, plan_, Round()).ok());
    EXPECT_EQ((*made)->contribution.base, state_.DigestOf(plan_));
    return **made;
  }
  std::string Refusal(ConsentTier tier) {
    const auto made = Make(tier);
    message_ = MessageOf(made.status());
    EXPECT_EQ(noise_, 0U) << "a refusal draws no noise";
    return ReasonOf(made.status());
  }
  double Spent() const { return ledger_->LargestEpsilon(plan_.unit, kDelta).value(); }
  // Adds lessons that must never be trained on under a tier that is not looser than dp.
  void AddLessonsThatStay() {
    Say("private", ConsentTier::kPrivate);
    AddCompletion("nobody asked");
    AddCompletion("private");
    AddTexts("diary", 2, "", static_cast<uint32_t>(ConsentTier::kPrivate));
    AddTexts("letters", 2, "nobody asked");
    AddCompletion("", /*judges=*/true);
    Say("left", ConsentTier::kPublic);
    clock_.Advance(std::chrono::milliseconds(1));
    ASSERT_TRUE(book_->Withdraw("left", clock_.WallMillis()).ok());
    AddTexts("withdrawn", 2, "left");
  }

  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::shared_ptr<const inference::FrameSet> frame_;
  LearnerPlan plan_;
  GlobalState state_;
  std::unique_ptr<storage::PrivacyLedgerStore> ledger_;
  LocalContributorOptions options_;
  std::string message_;
  int writes_left_ = 1'000'000;
  uint64_t seed_ = 0;
  uint64_t before_ = 0;  // entries of the ledger at the round's begin
  size_t coins_ = 0;
  size_t noise_ = 0;
};

TEST_F(LocalContributorTest, OpenDeltasAreTrainedOnWhatMayLeave) {
  plan_ = PlanOf(ContributionKind::kDelta);
  AddTexts("notes", 4);
  AddCompletion("");
  const LocalContribution made = Made(ConsentTier::kPublic);
  EXPECT_EQ(made.lessons, 5U);
  EXPECT_EQ(made.units, 5U);
  EXPECT_EQ(made.reservation, 0U);
  EXPECT_GT(made.loss, 0);
  EXPECT_EQ(made.contributors.size(), 1U);
  EXPECT_FALSE(made.contribution.banks.empty());
  EXPECT_EQ(ledger_->head().sequence, 0U) << "what is shared openly is not charged";
  EXPECT_EQ(Made(ConsentTier::kPublic).contribution, made.contribution)
      << "a node that starts again says what it said before";
  AddLessonsThatStay();
  EXPECT_EQ(Made(ConsentTier::kPublic).contribution, made.contribution)
      << "lessons that stay have an influence";
  AddTexts("more", 1);
  EXPECT_NE(Made(ConsentTier::kPublic).contribution, made.contribution);
  clock_.Advance(std::chrono::milliseconds(plan_.round_ms));
  EXPECT_NE(Made(ConsentTier::kPublic).contribution.floats, made.contribution.floats);
}

TEST_F(LocalContributorTest, ALocalRoundLowersTheLoss) {
  plan_ = PlanOf(ContributionKind::kDelta);
  plan_.local = {.learning_rate = 2e-2, .steps = 25, .batch = 4};
  AddTexts("notes", 6);
  const LocalContribution made = Made(ConsentTier::kPublic);
  const federation::RoundContribution one{
      .id = {}, .origin = key_.id(), .members = {}, .contribution = made.contribution};
  federation::RoundSet set;
  set.contributions.push_back(&one);
  const GlobalState after = ApplyRounds(plan_, state_, set, Round()).value();
  // Compares states on equal maskings.
  const auto loss = [&](const GlobalState& state) {
    learning::LearningServices services = Services();
    services.transformer = transformer_.get();
    const auto names = GatherShareableLessons(services, ConsentTier::kPublic, 0.7F, 1).value();
    std::vector<std::string> texts;
    for (const ShareableLesson& lesson : names.lessons) {
      texts.push_back(lesson.name);
    }
    const auto trainer = StoredLessonTrainer::Create({.services = &services,
                                                      .frame = frame_.get(),
                                                      .lessons = texts,
                                                      .min_rating = 0.7F,
                                                      .memory_bytes = uint64_t{64} << 20},
                                                     plan_);
    LearnerPlan::Local one_step{.learning_rate = 1e-9, .steps = 1, .batch = 64};
    return (*trainer)->Train(state.values, one_step, 5)->loss;
  };
  EXPECT_LT(loss(after), 0.97 * loss(state_));
}

TEST_F(LocalContributorTest, OpenGradientsAreTheSumOfWhatMayLeave) {
  AddTexts("notes", 3);
  const LocalContribution made = Made(ConsentTier::kPublic);
  EXPECT_EQ(made.contribution.noise, Contribution::Noise::kNone);
  EXPECT_EQ(made.sampling_rate, 1);
  EXPECT_EQ(made.reservation, 0U);
  EXPECT_EQ(ledger_->head().sequence, 0U);
  EXPECT_TRUE(std::ranges::any_of(made.contribution.units, [](int32_t unit) { return unit != 0; }));
  seed_ = 0;
  options_.random = Counted();
  EXPECT_EQ(Made(ConsentTier::kPublic).contribution, made.contribution);
  AddLessonsThatStay();
  seed_ = 0;
  options_.random = Counted();
  const LocalContribution with_others = Made(ConsentTier::kPublic);
  EXPECT_EQ(with_others.lessons, 3U);
  EXPECT_EQ(with_others.contribution, made.contribution);
  AddTexts("more", 30);
  options_.max_batch = 11;
  EXPECT_NEAR(Made(ConsentTier::kPublic).sampling_rate, 11.0 / 33, 1e-12);
}

TEST_F(LocalContributorTest, TheNoisedSumIsPaidBeforeItsNoiseIsDrawn) {
  AddTexts("notes", 3);
  AddCompletion("");
  AddLessonsThatStay();
  NextRound();
  const LocalContribution made = Made(ConsentTier::kDp);
  EXPECT_EQ(made.lessons, 4U);
  EXPECT_EQ(made.units, 4U);
  EXPECT_EQ(made.sampling_rate, 1) << "three whole rounds are within the budget";
  EXPECT_EQ(made.contribution.noise, Contribution::Noise::kWhole);
  EXPECT_EQ(made.contributors.size(), 1U);
  EXPECT_EQ(noise_, 16 * made.contribution.units.size()) << "noise, and only it, comes afterwards";
  EXPECT_GT(coins_, 0U);
  EXPECT_GT(Spent(), 0);
  EXPECT_EQ(Spent(), made.epsilon);
  EXPECT_LT(Spent(), kEpsilon);
  double squares = 0;
  for (const int32_t unit : made.contribution.units) {
    squares += static_cast<double>(unit) * unit;
  }
  const double deviation = std::sqrt(squares / static_cast<double>(made.contribution.units.size()));
  EXPECT_GT(deviation, 0.6 * plan_.grid.sigma_units);
  EXPECT_LT(deviation, 1.6 * plan_.grid.sigma_units);
  LocalContributor(options_).NoteSent(made.reservation);
  EXPECT_EQ(ledger_->totals(PrivacyUnit::kLesson).unreleased, 0U);
  LocalContributor(options_).NoteSent(0);
  ASSERT_TRUE(ledger_
                  ->ForEach([&](const privacy::LedgerEntry& entry) {
                    if (entry.charge) {
                      EXPECT_EQ(entry.charge->subject, fmt::format("round {}", Round()));
                      EXPECT_EQ(entry.charge->mechanism,
                                privacy::PrivacyMechanism::kSubsampledGaussian);
                      EXPECT_EQ(entry.charge->sigma, 2);
                    }
                    return true;
                  })
                  .ok());
}

TEST_F(LocalContributorTest, ARoundIsPaidOnce) {
  AddTexts("notes", 2);
  NextRound();
  Made(ConsentTier::kDp);
  const double spent = Spent();
  EXPECT_EQ(Make(ConsentTier::kDp).value(), std::nullopt);
  OpenLedger(PrivacyUnit::kLesson);
  EXPECT_EQ(Make(ConsentTier::kDp).value(), std::nullopt) << "also after a restart";
  EXPECT_EQ(Spent(), spent);
  // Longer rounds have smaller numbers, but they come later.
  plan_.round_ms *= 3;
  NextRound();
  Made(ConsentTier::kDp);
  EXPECT_GT(Spent(), spent);
}

TEST_F(LocalContributorTest, LessonsRetireAfterTheirRounds) {
  AddTexts("old", 3);
  for (int round = 0; round < 3; ++round) {
    NextRound();
    EXPECT_EQ(Made(ConsentTier::kDp).units, 3U);
  }
  NextRound();
  EXPECT_EQ(Make(ConsentTier::kDp).value(), std::nullopt);
  AddTexts("new", 2);
  EXPECT_EQ(Make(ConsentTier::kDp).value(), std::nullopt) << "they came after the round's begin";
  NextRound();
  EXPECT_EQ(Made(ConsentTier::kDp).units, 2U);
  EXPECT_LE(Spent(), kEpsilon);
}

TEST_F(LocalContributorTest, WhatWasChargedForOtherReleasesCounts) {
  AddTexts("notes", 2);
  privacy::LedgerCharge charge{.unit = PrivacyUnit::kLesson,
                               .mechanism = privacy::PrivacyMechanism::kDiscreteGaussian,
                               .sigma = 1,
                               .subject = "centroids"};
  charge.curve = privacy::dp::ZcdpCurve(0.85).value();
  ASSERT_TRUE(ledger_->Reserve(charge).ok());
  NextRound();
  Made(ConsentTier::kDp);
  NextRound();
  EXPECT_EQ(Make(ConsentTier::kDp).value(), std::nullopt) << "a second round would be too much";
  EXPECT_LE(Spent(), kEpsilon);
}

TEST_F(LocalContributorTest, ALowerRateMeetsASmallerBudget) {
  AddTexts("notes", 8);
  options_.budgets[0].epsilon = 1;
  NextRound();
  const LocalContribution made = Made(ConsentTier::kDp);
  EXPECT_LT(made.sampling_rate, 0.7);
  EXPECT_GT(made.sampling_rate, 0.01);
  privacy::dp::RdpCurve rounds =
      privacy::dp::SampledCurve(made.sampling_rate, privacy::dp::GaussianRho(2)).value();
  rounds *= 3;
  EXPECT_LE(privacy::dp::EpsilonOf(rounds, kDelta)->value, 1);
  EXPECT_GT(privacy::dp::EpsilonOf(rounds, kDelta)->value, 0.99);
}

TEST_F(LocalContributorTest, AUserTakesPartAsAWhole) {
  plan_.unit = PrivacyUnit::kUser;
  OpenLedger(PrivacyUnit::kUser);
  for (const char* user : {"ann", "bob"}) {
    Say(user, ConsentTier::kDp);
    AddTexts(user, 3, user);
    AddCompletion(user);
  }
  for (int round = 0; round < 3; ++round) {
    NextRound();
    const LocalContribution made = Made(ConsentTier::kDp);
    EXPECT_EQ(made.units, 2U);
    EXPECT_EQ(made.lessons, 8U);
    EXPECT_EQ(made.contributors.size(), 2U);
  }
  Say("cat", ConsentTier::kDp);
  AddTexts("cat", 1, "cat");
  NextRound();
  EXPECT_EQ(Make(ConsentTier::kDp).value(), std::nullopt)
      << "no user's first lesson is known for sure";
  EXPECT_GT(Spent(), 0);
}

TEST_F(LocalContributorTest, AFailingDiskReleasesNothing) {
  AddTexts("notes", 2);
  NextRound();
  writes_left_ = 0;  // the counter cannot be raised
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kDiskFull);
  writes_left_ = 2;  // the charge is written, and what it is spent on is not
  const auto made = Make(ConsentTier::kDp);
  EXPECT_EQ(ReasonOf(made.status()), reasons::kDiskFull);
  EXPECT_GT(noise_, 0U);
  EXPECT_GT(Spent(), 0);
  writes_left_ = 1'000'000;
  EXPECT_EQ(Make(ConsentTier::kDp).value(), std::nullopt) << "the round stays paid";
}

TEST_F(LocalContributorTest, AWithdrawalMeanwhileEndsTheRound) {
  Say("ann", ConsentTier::kDp);
  AddTexts("notes", 2, "ann");
  AddTexts("others", 2);
  NextRound();
  int polls = 0;
  cancelled_ = [&] {
    if (++polls == 12) {  // after the lessons were chosen
      clock_.Advance(std::chrono::milliseconds(1));
      EXPECT_TRUE(book_->Withdraw("ann", clock_.WallMillis()).ok());
    }
    return false;
  };
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kChanged);
  EXPECT_GT(polls, 12);
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
      if (++polls == 12) {
        EXPECT_TRUE(lessons_->WithdrawSource(source).ok());
      }
      return false;
    };
    EXPECT_EQ(Refusal(ConsentTier::kPublic), reasons::kChanged);
    EXPECT_GT(polls, 12);
  }
}

TEST_F(LocalContributorTest, EndsWhenLearningEnds) {
  AddTexts("notes", 3);
  NextRound();
  int polls = 0;
  cancelled_ = [&] { return ++polls > 20; };
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
  EXPECT_THAT(message_, HasSubstr("`experimental.rounds`"));
  EXPECT_THAT(message_, HasSubstr("\"gradient\""));
  plan_ = PlanOf(ContributionKind::kGradient);
  plan_.unit = PrivacyUnit::kNode;
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kInvalidArgument);
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

TEST_F(LocalContributorTest, ARequestMayNotDisplaceALessonThatTakesPart) {
  OpenTrajectories(/*capacity=*/4);
  for (int i = 0; i < 4; ++i) {
    AddCompletion("");
  }
  AddTexts("notes", 2);
  NextRound();
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kLimitExceeded);
  OpenTrajectories(/*capacity=*/100);
  for (int round = 0; round < 3; ++round) {
    NextRound();
    EXPECT_EQ(Made(ConsentTier::kDp).units, 6U);
  }
  // The requests in the store are retired, so that one more displaces no lesson of a round.
  OpenTrajectories(/*capacity=*/4);
  AddTexts("more", 2);
  NextRound();
  EXPECT_EQ(Made(ConsentTier::kDp).units, 2U);
}

}  // namespace
}  // namespace ruvd::sharing
