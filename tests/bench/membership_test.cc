// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests that noise protects members from inference where plain sums do not, on a tiny model.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "bench/experiments/federate_lessons.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/membership_attack.h"
#include "bench/experiments/membership_releases.h"
#include "tests/inference/core_trainer_fixture.h"

namespace ruvd::bench {
namespace {

using privacy::ConsentTier;

TEST(Auc, IsTheShareOfPairsInOrder) {
  EXPECT_EQ(Auc(std::vector<double>{3, 4}, std::vector<double>{1, 2}), 1);
  EXPECT_EQ(Auc(std::vector<double>{1, 2}, std::vector<double>{3, 4}), 0);
  EXPECT_EQ(Auc(std::vector<double>{1, 3}, std::vector<double>{2}), 0.5);
  EXPECT_EQ(Auc(std::vector<double>{2, 2}, std::vector<double>{2}), 0.5);
  EXPECT_EQ(Auc({}, std::vector<double>{2}), 0.5);
}

TEST(Auc, HasAnIntervalThatHoldsIt) {
  Random random(1);
  std::vector<double> members(100);
  std::vector<double> others(100);
  std::ranges::generate(members, [&] { return random.Normal() + 1; });
  std::ranges::generate(others, [&] { return random.Normal(); });
  const Interval auc = AucInterval(members, others);
  EXPECT_NEAR(auc.mean, 0.76, 0.06);
  EXPECT_LT(auc.low, auc.mean);
  EXPECT_GT(auc.high, auc.mean);
  EXPECT_NEAR(auc.high - auc.low, 0.13, 0.04);
  EXPECT_TRUE(std::isinf(AucInterval(std::span(members).first(4), others).high));
}

// Random texts, each of which is the only lesson of the attacked node once.
class MembershipTest : public testing::Test {
 protected:
  static constexpr size_t kCandidates = 12;
  static constexpr size_t kLessons = 4;  // of each other node
  static constexpr size_t kNodes = 4;

  MembershipTest() : shop_(test::kTwoBanks) {
    FederateSettings settings;
    settings.tier = "dp";
    settings.rank = test::kCoreRank;
    settings.boundaries = test::kTwoBanks;
    plan_ = PlanOf(settings, shop_.shape(), federation::ContributionKind::kGradient).value();
    candidates_ = Texts(kCandidates);
    lessons_.push_back({});  // of the attacked node
    while (lessons_.size() < kNodes) {
      lessons_.push_back(Texts(kLessons));
    }
  }

  std::vector<inference::TrainingExample> Texts(size_t count) {
    std::vector<inference::TrainingExample> texts(count);
    for (inference::TrainingExample& text : texts) {
      text.prompt = {'s', 'a', 'y'};
      text.completion.resize(24);
      std::ranges::generate(text.completion, [this] {
        return static_cast<inference::TokenId>('a' + random_.Below(26));
      });
    }
    return texts;
  }
  sharing::CoreLessonTrainer::Parts Parts() const {
    return {.model = test::TinyTextModel(), .frame = &test::CoreFrame(), .runner = &SerialRunner()};
  }
  // Lets a node have one of the candidates alone, one after the other. Returns how often the
  // gradient attack ranks that one first, and checks what was charged.
  int Found(ConsentTier tier, double epsilon) {
    const auto trainer = TextLessonTrainer::Create(Parts(), plan_, candidates_).value();
    const auto directions = Directions(shop_.Zeros(), *trainer, /*maskings=*/16, 7).value();
    int found = 0;
    for (size_t member = 0; member < candidates_.size(); ++member) {
      lessons_.front() = {candidates_[member]};
      const Releases releases =
          RunReleases({.model = test::TinyTextModel(),
                       .frame = &test::CoreFrame(),
                       .runner = &SerialRunner(),
                       .plan = &plan_,
                       .lessons = lessons_},
                      {.tier = tier, .epsilon = epsilon, .rounds = 4, .every_lesson = true})
              .value();
      if (tier != ConsentTier::kPublic) {
        EXPECT_GT(releases.epsilon, 0);
        EXPECT_LE(releases.epsilon, epsilon);
      }
      const std::vector<double> scores = Products(directions, releases.sum);
      found +=
          std::ranges::max_element(scores) - scores.begin() == static_cast<std::ptrdiff_t>(member)
              ? 1
              : 0;
    }
    return found;
  }

  Random random_{3};
  test::CoreWorkshop shop_;
  federation::LearnerPlan plan_;
  std::vector<inference::TrainingExample> candidates_;
  std::vector<std::vector<inference::TrainingExample>> lessons_;
};

// A guess finds one of the candidates.
TEST_F(MembershipTest, ASumGivesItsOnlyLessonAwayAndANoisedSumDoesNot) {
  const int plain = Found(ConsentTier::kPublic, 8);
  EXPECT_GE(plain, static_cast<int>(kCandidates) / 2);
  for (const double epsilon : {8.0, 3.0}) {
    EXPECT_LE(Found(ConsentTier::kDp, epsilon), plain / 3) << "at epsilon " << epsilon;
  }
  EXPECT_LE(Found(ConsentTier::kMasked, 8), plain / 3);
}

}  // namespace
}  // namespace ruvd::bench
