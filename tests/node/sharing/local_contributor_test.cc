// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a node contributes to a round, and what that costs.

#include "node/sharing/local_contributor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "base/status.h"
#include "federation/learner/privacy_plan.h"
#include "inference/kernels/kernel_table.h"
#include "node/reasons.h"
#include "node/sharing/lesson_trainer.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/zcdp.h"
#include "privacy/reasons.h"
#include "storage/reasons.h"
#include "storage/similarity/cosine.h"
#include "tests/node/sharing/local_contributor_fixture.h"

namespace ruvd::sharing {
namespace {

using federation::Contribution;
using federation::GlobalState;

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

TEST_F(LocalContributorTest, TrainingRoundsFactorsWhereThatIsFaster) {
  if (inference::Kernels().rounded == nullptr) {
    GTEST_SKIP() << "this machine has no fast products of bfloat16";
  }
  plan_ = PlanOf(ContributionKind::kDelta);
  AddTexts("notes", 4);
  const Contribution rounded = Made(ConsentTier::kPublic).contribution;
  Contribution exact;
  {
    const absl::Cleanup best = [] { RUVD_CHECK(inference::ForceKernels("").ok()); };
    ASSERT_TRUE(inference::ForceKernels("avx512-vnni").ok());  // they have the same other kernels
    exact = Made(ConsentTier::kPublic).contribution;
  }
  ASSERT_EQ(rounded.floats.size(), exact.floats.size());
  EXPECT_NE(rounded.floats, exact.floats);
  EXPECT_GT(storage::CosineSimilarity(rounded.floats, exact.floats).value_or(0), 0.98F);
}

// Found by review: `ruvd learn pause` stopped this node's own training only.
TEST_F(LocalContributorTest, PausedLearningGivesNothingToRounds) {
  plan_ = PlanOf(ContributionKind::kDelta);
  AddTexts("notes", 4);
  ASSERT_TRUE(changes_->SetPaused(true).ok());
  EXPECT_EQ(Refusal(ConsentTier::kPublic), reasons::kLearningPaused);
  EXPECT_NE(message_.find("ruvd learn resume"), std::string::npos);
  ASSERT_TRUE(changes_->SetPaused(false).ok());
  EXPECT_EQ(Made(ConsentTier::kPublic).lessons, 4U);
  options_.learns = false;
  EXPECT_EQ(Refusal(ConsentTier::kPublic), reasons::kLearningPaused);
  EXPECT_NE(message_.find("learning.enabled"), std::string::npos);
}

// Moves the zero state by a contribution, scaled to this norm.
GlobalState Moved(const LearnerPlan& plan, const Contribution& contribution, double norm) {
  GlobalState state = federation::EmptyState(plan, 1);
  const federation::BankedValues values = ValuesOf(contribution, plan);
  double squares = 0;
  for (const std::vector<float>& bank : values) {
    for (const float value : bank) {
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
  }
  for (size_t bank = 0; bank < values.size(); ++bank) {
    for (size_t i = 0; i < values[bank].size(); ++i) {
      state.values[bank][i] = static_cast<float>(norm / std::sqrt(squares)) * values[bank][i];
    }
  }
  return state;
}

// A gradient has one masking of each lesson, so that it takes many lessons to tell its direction.
TEST_F(LocalContributorTest, AStepAlongAContributionLowersTheLoss) {
  AddTexts("notes", 40);
  learning::LearningServices services = Services();
  services.transformer = transformer_.get();
  const auto found = GatherShareableLessons(services, ConsentTier::kPublic, 0.7F, 1).value();
  std::vector<std::string> texts;
  for (const ShareableLesson& lesson : found.lessons) {
    texts.push_back(lesson.name);
  }
  for (const ContributionKind kind : {ContributionKind::kDelta, ContributionKind::kGradient}) {
    plan_ = PlanOf(kind);
    plan_.local = {.learning_rate = 2e-3, .steps = 10, .batch = 32};
    const Contribution contribution = Made(ConsentTier::kPublic).contribution;
    const auto trainer = StoredLessonTrainer::Create({.services = &services,
                                                      .frame = frame_.get(),
                                                      .lessons = texts,
                                                      .min_rating = 0.7F,
                                                      .memory_bytes = uint64_t{64} << 20},
                                                     plan_);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    // The loss after a step along the contribution, on equal maskings
    const auto loss = [&](double norm) {
      const LearnerPlan::Local one_step{.learning_rate = 1e-9, .steps = 1, .batch = 64};
      return (*trainer)->Train(Moved(plan_, contribution, norm).values, one_step, 5)->loss;
    };
    // Steps so short that curvature does not matter; the lessons' names differ from run to run.
    EXPECT_LT(loss(0.1), loss(-0.1)) << static_cast<int>(kind);
  }
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
  EXPECT_LT(Spent(), kRoundEpsilon);
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
  EXPECT_EQ(ReasonOf(Make(ConsentTier::kDp).status()), reasons::kPrivacyBudgetSpent);
  OpenLedger(PrivacyUnit::kLesson);
  EXPECT_EQ(ReasonOf(Make(ConsentTier::kDp).status()), reasons::kPrivacyBudgetSpent)
      << "also after a restart";
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
  EXPECT_LE(Spent(), kRoundEpsilon);
}

TEST_F(LocalContributorTest, WhatWasChargedForOtherReleasesCounts) {
  AddTexts("notes", 2);
  privacy::LedgerCharge charge{.unit = PrivacyUnit::kLesson,
                               .mechanism = privacy::PrivacyMechanism::kDiscreteGaussian,
                               .sigma = 1,
                               .subject = "other"};
  charge.curve = privacy::dp::ZcdpCurve(0.85).value();
  ASSERT_TRUE(ledger_->Reserve(charge).ok());
  NextRound();
  Made(ConsentTier::kDp);
  NextRound();
  EXPECT_EQ(Make(ConsentTier::kDp).value(), std::nullopt) << "a second round would be too much";
  EXPECT_LE(Spent(), kRoundEpsilon);
}

// Found by review: one damaged lesson failed the whole contribution of a node.
TEST_F(LocalContributorTest, ADamagedLessonCostsItselfOnly) {
  AddTexts("notes", 4);
  Damage(NewestText());
  NextRound();
  EXPECT_EQ(Made(ConsentTier::kDp).lessons, 3U);
  const size_t coins = coins_;
  AddTexts("more", 1);
  // These are damaged once the sample is being drawn.
  std::vector<std::string> later = {NewestText(), AddCompletion("")};
  NextRound();
  options_.random = [this, &later, drawn = Counted()](std::span<uint8_t> out) {
    for (const std::string& name : std::exchange(later, {})) {
      Damage(name);
    }
    drawn(out);
  };
  const LocalContribution made = Made(ConsentTier::kDp);
  EXPECT_EQ(made.lessons, 5U);
  EXPECT_EQ(made.sampling_rate, 1);
  EXPECT_EQ(coins_, coins / 3 * 5) << "the coins are drawn for every lesson";
  EXPECT_EQ(made.contribution.noise, Contribution::Noise::kWhole);
  NextRound();
  EXPECT_EQ(Made(ConsentTier::kDp).lessons, 3U);
}

TEST_F(LocalContributorTest, AWithdrawalBesideADamagedLessonStillEndsTheRound) {
  Say("ann", ConsentTier::kDp);
  AddTexts("ann", 2, "ann");
  const std::string name = AddCompletion("");
  NextRound();
  bool drawn_before = false;
  options_.random = [this, &name, &drawn_before, drawn = Counted()](std::span<uint8_t> out) {
    if (!std::exchange(drawn_before, true)) {
      Damage(name);
      clock_.Advance(std::chrono::milliseconds(1));
      EXPECT_TRUE(book_->Withdraw("ann", clock_.WallMillis()).ok());
    }
    drawn(out);
  };
  EXPECT_EQ(Refusal(ConsentTier::kDp), reasons::kChanged);
}

// Found by review: after a change of privacy.unit a lesson could spend its whole epsilon again.
TEST_F(LocalContributorTest, ABudgetThatLessonsSpentIsSpentForUsers) {
  OpenLedger({PrivacyUnit::kLesson, PrivacyUnit::kUser});
  plan_.grid.sigma_units = 128;  // three rounds at the largest rate take the whole budget
  AddTexts("notes", 4);
  for (int round = 0; round < 3; ++round) {
    NextRound();
    EXPECT_EQ(Made(ConsentTier::kDp).units, 4U);
  }
  EXPECT_GT(Spent(), 0.9 * kRoundEpsilon);
  plan_.unit = PrivacyUnit::kUser;
  EXPECT_GT(Spent(), 0.9 * kRoundEpsilon);
  AddTexts("new", 2);
  NextRound();
  EXPECT_EQ(Make(ConsentTier::kDp).value(), std::nullopt);
  EXPECT_LE(Spent(), kRoundEpsilon);
}

TEST_F(LocalContributorTest, ABudgetThatUsersSpentIsSpentForTheirLessons) {
  OpenLedger({PrivacyUnit::kLesson, PrivacyUnit::kUser});
  plan_.grid.sigma_units = 128;
  plan_.unit = PrivacyUnit::kUser;
  AddTexts("notes", 4);
  for (int round = 0; round < 3; ++round) {
    NextRound();
    clock_.Advance(std::chrono::seconds(1));
    AddTexts(fmt::format("late {}", round),
             1);  // is not in this round, which is charged to earlier lessons only
    EXPECT_EQ(Made(ConsentTier::kDp).lessons, 4U + static_cast<size_t>(round));
  }
  plan_.unit = PrivacyUnit::kLesson;
  EXPECT_GT(Spent(), kRoundEpsilon) << "without one lesson its user still takes part";
  NextRound();
  EXPECT_EQ(Made(ConsentTier::kDp).lessons, 1U) << "the last text was in no round of its user";
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
  EXPECT_LE(privacy::dp::EpsilonOf(rounds, kRoundDelta)->value, 1);
  EXPECT_GT(privacy::dp::EpsilonOf(rounds, kRoundDelta)->value, 0.99);
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

// Found in an experiment: a user's signal was taken for that of a single lesson, and rounds that
// would have gained were refused.
TEST_F(LocalContributorTest, TheSignalOfAUserIsThatOfSeveralLessons) {
  plan_.unit = PrivacyUnit::kUser;
  OpenLedger(PrivacyUnit::kUser);
  for (const char* user : {"ann", "bob"}) {
    Say(user, ConsentTier::kDp);
    AddTexts(user, 4, user);
  }
  NextRound();
  const double of_lessons =
      federation::PredictSnr(plan_, {.nodes = 1,
                                     .units = 2,
                                     .rate = Made(ConsentTier::kDp).sampling_rate,
                                     .rounds = 3,
                                     .signal = options_.signal})
          .value();
  NextRound();
  options_.min_snr = 1.5 * of_lessons;  // four lessons have 1.7 times the signal of one
  EXPECT_EQ(Made(ConsentTier::kDp).units, 2U);
  NextRound();
  options_.min_snr = 2 * of_lessons;
  EXPECT_EQ(ReasonOf(Make(ConsentTier::kDp).status()), reasons::kSignalTooWeak);
}

}  // namespace
}  // namespace ruvd::sharing
