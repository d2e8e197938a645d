// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests rounds of the federation experiment on a tiny model.

#include "bench/experiments/federate_rounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/experiments/federate_lessons.h"
#include "federation/learner/plan.h"
#include "privacy/reasons.h"
#include "tests/inference/core_trainer_fixture.h"

namespace ruvd::bench {
namespace {

using federation::ContributionKind;
using privacy::ConsentTier;
using test::CoreExamples;

constexpr size_t kNodes = 4;

class FederationTest : public testing::Test {
 protected:
  FederationTest() : shop_(test::kTwoBanks) {
    settings_.rank = test::kCoreRank;
    settings_.boundaries = test::kTwoBanks;
    settings_.rounds = 3;
    SetTexts(100);
  }
  // Gives every node each of its texts `times` times.
  void SetTexts(size_t times) {
    texts_.assign(kNodes, {});
    for (DomainText& text : texts_) {
      for (size_t i = 0; i < times; ++i) {
        text.train.insert(text.train.end(), CoreExamples().begin(), CoreExamples().end());
      }
    }
  }
  absl::StatusOr<FederationOutcome> Run(ContributionKind kind, ConsentTier tier,
                                        size_t attackers = 0) {
    ResultCache cache = ResultCache::Open("").value();
    const FederateWorld world{.model = test::TinyTextModel(),
                              .frame = &test::CoreFrame(),
                              .runner = &SerialRunner(),
                              .trainer = shop_.trainer.get(),
                              .cache = &cache,
                              .texts = texts_};
    return RunFederation(world, {.settings = settings_,
                                 .kind = kind,
                                 .tier = tier,
                                 .honest = kNodes - attackers,
                                 .attackers = attackers});
  }
  // Returns the loss of many maskings of the texts.
  double Loss(const federation::BankedValues& values) {
    const auto plan = PlanOf(settings_, shop_.shape(), ContributionKind::kDelta).value();
    const auto trainer = TextLessonTrainer::Create({.model = test::TinyTextModel(),
                                                    .frame = &test::CoreFrame(),
                                                    .runner = &SerialRunner()},
                                                   plan, texts_[0].train)
                             .value();
    return trainer->Train(values, {.learning_rate = 1e-9, .steps = 1, .batch = 256}, 5)->loss;
  }

  test::CoreWorkshop shop_;
  FederateSettings settings_;
  std::vector<DomainText> texts_;
};

TEST_F(FederationTest, OpenRoundsLearn) {
  const FederationOutcome outcome = Run(ContributionKind::kDelta, ConsentTier::kPublic).value();
  EXPECT_LT(Loss(outcome.values), Loss(shop_.Zeros()));
  ASSERT_EQ(outcome.rounds.size(), 3U);
  EXPECT_EQ(outcome.rounds[2].size(), kNodes);
  EXPECT_GT(outcome.rounds[2][0]["weight"], 0.0);
  EXPECT_TRUE(std::isinf(outcome.spent[1].epsilon));
  EXPECT_GT(outcome.bytes[1], 3 * shop_.shape().values() * sizeof(float));
  EXPECT_EQ(Run(ContributionKind::kDelta, ConsentTier::kPublic).value().values, outcome.values);
}

TEST_F(FederationTest, NoisedRoundsLearnWithinTheBudget) {
  const FederationOutcome clipped = Run(ContributionKind::kGradient, ConsentTier::kPublic).value();
  const FederationOutcome noised = Run(ContributionKind::kGradient, ConsentTier::kDp).value();
  EXPECT_LT(Loss(noised.values), Loss(shop_.Zeros()));
  EXPECT_NE(noised.values, clipped.values);
  ASSERT_EQ(noised.spent.size(), kNodes);
  for (const PrivacySpent& spent : noised.spent) {
    EXPECT_GT(spent.epsilon, 0);
    EXPECT_LE(spent.epsilon, settings_.epsilon);
    EXPECT_GT(spent.snr, 1);
  }
  const FederationOutcome again = Run(ContributionKind::kGradient, ConsentTier::kDp).value();
  EXPECT_EQ(again.values, noised.values) << "noise comes from the seed";
  ++settings_.seed;
  EXPECT_NE(Run(ContributionKind::kGradient, ConsentTier::kDp).value().values, noised.values);
}

TEST_F(FederationTest, OfAMaskedRoundOneSumArrives) {
  const FederationOutcome outcome = Run(ContributionKind::kGradient, ConsentTier::kMasked).value();
  EXPECT_LT(Loss(outcome.values), Loss(shop_.Zeros()));
  for (const nlohmann::json& round : outcome.rounds) {
    ASSERT_EQ(round.size(), 1U);
    EXPECT_EQ(round[0]["weight"], 1.0) << "a sum has one vote";
  }
  EXPECT_GT(outcome.spent[0].epsilon, 0);
  EXPECT_LE(outcome.spent[0].epsilon, settings_.epsilon);
}

TEST_F(FederationTest, WhatNoiseWouldBuryIsRefused) {
  SetTexts(2);
  EXPECT_EQ(ReasonOf(Run(ContributionKind::kGradient, ConsentTier::kDp).status()),
            reasons::kSignalTooWeak);
}

TEST_F(FederationTest, LiesTakePartLikeEveryContribution) {
  settings_.attack = "sign-flip-10";
  settings_.rule = "mean";
  settings_.rounds = 1;
  const double before = Loss(shop_.Zeros());
  for (const ContributionKind kind : {ContributionKind::kDelta, ContributionKind::kGradient}) {
    const FederationOutcome outcome = Run(kind, ConsentTier::kPublic, 1).value();
    ASSERT_EQ(outcome.rounds[0].size(), kNodes);
    EXPECT_EQ(outcome.spent.size(), kNodes - 1);
    // One lie of ten times the honest mean turns a mean of four around.
    EXPECT_GT(Loss(outcome.values), before) << static_cast<int>(kind);
  }
  const FederationOutcome masked =
      Run(ContributionKind::kGradient, ConsentTier::kMasked, 1).value();
  EXPECT_EQ(masked.rounds[0].size(), 1U);
  EXPECT_GT(Loss(masked.values), before);
  settings_.rule = "median";
  EXPECT_LT(Loss(Run(ContributionKind::kDelta, ConsentTier::kPublic, 1).value().values), before);
}

}  // namespace
}  // namespace ruvd::bench
