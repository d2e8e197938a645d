// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a node measures of the contributions of others, with real stores and a real model.

#include "node/sharing/contribution_judge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "inference/train/core_trainer.h"
#include "inference/train/losses.h"
#include "inference/train/model_weights.h"
#include "node/sharing/shareable_lessons.h"
#include "storage/reasons.h"
#include "tests/node/sharing/local_contributor_fixture.h"

namespace ruvd::sharing {
namespace {

using federation::Contribution;
using federation::RoundContribution;

class ContributionJudgeTest : public LocalContributorTest {
 protected:
  void SetUp() override {
    LocalContributorTest::SetUp();
    plan_ = PlanOf(ContributionKind::kDelta);
    plan_.local = {.learning_rate = 1e-2, .steps = 24, .batch = 4};
    judge_options_ = {.frame = frame_, .shape = CoreShapeOf(*frame_, 2, {0.5F}).value()};
  }
  // Adds lessons that judge, all of which say about the same.
  void AddJudges(const std::string& user, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      AddCompletion(user, /*judges=*/true,
                    fmt::format(" counted {} ships every evening.", ++ships_));
    }
  }
  // A contribution of a node that learned what the judges want.
  RoundContribution Helpful() {
    for (size_t i = 0; i < 64; ++i) {
      AddCompletion("", /*judges=*/false, fmt::format(" counted {} ships every evening.", 50 + i));
    }
    RoundContribution one{.members = {}, .contribution = Made(ConsentTier::kPublic).contribution};
    one.id = Sha256("helpful");
    return one;
  }
  static RoundContribution Opposite(RoundContribution one) {
    one.id = Sha256(ToHex(one.id));
    for (float& value : one.contribution.floats) {
      value = -value;
    }
    return one;
  }
  absl::StatusOr<MeasuredVerdict> Judge(std::vector<RoundContribution> contributions) {
    learning::LearningServices services = Services();
    services.transformer = transformer_.get();
    services.between_slices = between_slices_;
    services.slice = Duration(0);
    return ContributionJudge(judge_options_)
        .Judge(services, {.plan = std::make_shared<const LearnerPlan>(plan_),
                          .round = Round(),
                          .base = federation::EmptyState(plan_, Round()).values,
                          .contributions = std::move(contributions)});
  }

  ContributionJudgeOptions judge_options_;
  std::function<absl::Status(uint64_t)> between_slices_;

 private:
  int ships_ = 0;
};

TEST_F(ContributionJudgeTest, WhatHelpsItsLessonsGainsAndTheOppositeLoses) {
  AddJudges("", 8);
  const RoundContribution helpful = Helpful();
  const RoundContribution opposite = Opposite(helpful);
  const auto made = Judge({helpful, opposite});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->lessons, 8U);
  EXPECT_EQ(made->left_out, 0U);
  EXPECT_EQ(made->contributors.size(), 1U);
  EXPECT_TRUE(CheckVerdict(made->verdict, plan_, Round()).ok());
  for (const float gain : made->verdict.gains.at(helpful.id)) {
    EXPECT_GT(gain, 0);
  }
  for (const float gain : made->verdict.gains.at(opposite.id)) {
    EXPECT_LT(gain, 0);
  }
  EXPECT_EQ(Judge({helpful, opposite})->verdict, made->verdict) << "masks are common";
}

TEST_F(ContributionJudgeTest, ABankIsJudgedByItself) {
  AddJudges("", 8);
  RoundContribution helpful = Helpful();
  ASSERT_EQ(helpful.contribution.banks.size(), 2U);
  const size_t half = helpful.contribution.floats.size() / 2;
  for (size_t i = half; i < 2 * half; ++i) {
    helpful.contribution.floats[i] *= -1;  // the upper bank does harm
  }
  RoundContribution lower = helpful;
  lower.id = Sha256("lower");
  lower.contribution.banks = {0};
  lower.contribution.floats.resize(half);
  const auto made = Judge({helpful, lower});
  ASSERT_TRUE(made.ok()) << made.status();
  const std::vector<float>& both = made->verdict.gains.at(helpful.id);
  EXPECT_GT(both[0], 0);
  EXPECT_LT(both[1], 0);
  EXPECT_EQ(made->verdict.gains.at(lower.id), (std::vector<float>{both[0], 0}));
}

TEST_F(ContributionJudgeTest, OnlyLessonsThatMayLeaveUnderPublicJudge) {
  const RoundContribution helpful = Helpful();
  Say("alice", ConsentTier::kPublic);
  Say("carol", ConsentTier::kDp);
  AddJudges("alice", 4);
  AddJudges("bob", 5);    // did not say anything
  AddJudges("carol", 5);  // only with noise
  const auto few = Judge({helpful});
  EXPECT_EQ(ReasonOf(few.status()), reasons::kConsentMissing);
  EXPECT_NE(MessageOf(few.status()).find("4 evaluation lesson(s)"), std::string_view::npos)
      << few.status();
  AddJudges("alice", 1);
  const auto enough = Judge({helpful});
  ASSERT_TRUE(enough.ok()) << enough.status();
  EXPECT_EQ(enough->lessons, 5U);
  ASSERT_EQ(enough->contributors.size(), 1U);
  EXPECT_EQ(enough->contributors[0].user, book_->ContributorOf({.user_id = "alice"}).user);
}

TEST_F(ContributionJudgeTest, LimitsAndTheLengthOfARoundBoundTheWork) {
  AddJudges("", 5);
  const RoundContribution helpful = Helpful();
  judge_options_.most_contributions = 1;
  const auto one = Judge({helpful, Opposite(helpful), Opposite(Opposite(helpful))});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->verdict.gains.size(), 1U);
  EXPECT_EQ(one->left_out, 2U);
  judge_options_.most_contributions = 16;
  int64_t pieces = 0;
  between_slices_ = [&](uint64_t) {
    ++pieces;
    return absl::OkStatus();
  };
  ASSERT_TRUE(Judge({helpful}).ok());
  // The round is over once the first contribution is measured; a few pieces come after that.
  between_slices_ = [&](uint64_t) {
    clock_.Advance(std::chrono::milliseconds(plan_.round_ms / (pieces - 3)));
    return absl::OkStatus();
  };
  const auto slow = Judge({helpful, Opposite(helpful), Opposite(Opposite(helpful))});
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_EQ(slow->left_out, 2U);
  between_slices_ = [&](uint64_t) {
    clock_.Advance(std::chrono::milliseconds(plan_.round_ms));
    return absl::OkStatus();
  };
  EXPECT_EQ(ReasonOf(Judge({helpful}).status()), reasons::kLimitExceeded);
}

TEST_F(ContributionJudgeTest, AConsentThatEndsMeanwhileLetsNothingLeave) {
  const RoundContribution helpful = Helpful();
  Say("alice", ConsentTier::kPublic);
  AddJudges("alice", 5);
  bool withdrawn = false;
  between_slices_ = [&](uint64_t) {
    if (!std::exchange(withdrawn, true)) {
      clock_.Advance(std::chrono::milliseconds(1));
      EXPECT_TRUE(book_->Withdraw("alice", clock_.WallMillis()).ok());
    }
    return absl::OkStatus();
  };
  EXPECT_EQ(ReasonOf(Judge({helpful}).status()), reasons::kChanged);
  EXPECT_TRUE(withdrawn);
}

// ---- Nodes whose lessons or ways of training are unlike, with the histograms of the real trainer

class UnlikeNodesTest : public ContributionJudgeTest {
 protected:
  void SetUp() override {
    ContributionJudgeTest::SetUp();
    plan_.boundaries = {};  // blocks have no banks
    judge_options_.shape = CoreShapeOf(*frame_, 2).value();
  }
  // The contribution of a node that has these completions.
  RoundContribution OfLessons(const std::vector<std::string>& completions) {
    std::vector<std::string> names;
    for (const std::string& completion : completions) {
      names.push_back(AddCompletion("", /*judges=*/false, completion));
    }
    learning::LearningServices services = Services();
    services.transformer = transformer_.get();
    const auto trainer = StoredLessonTrainer::Create({.services = &services,
                                                      .frame = frame_.get(),
                                                      .lessons = names,
                                                      .min_rating = 0.7F,
                                                      .memory_bytes = uint64_t{64} << 20},
                                                     plan_)
                             .value();
    auto made = DeltaContribution(plan_, Round(), federation::EmptyState(plan_, Round()), *trainer,
                                  /*seed=*/1);
    EXPECT_TRUE(made.ok()) << made.status();
    return Named(made.ok() ? std::move(made->contribution) : Contribution());
  }
  // That of a node which trains on blocks of this length.
  RoundContribution OfBlocks(int length) {
    const std::vector<inference::TrainingExample> examples = {
        {.prompt = model_->tokenizer().EncodePrompt("The lighthouse keeper"),
         .completion = model_->tokenizer().EncodeContinuation(kText)}};
    const auto weights =
        inference::train::ModelWeights::Create(model_, nullptr, SerialRunner()).value();
    const auto trainer = inference::train::CoreTrainer::Create({.model = model_,
                                                                .weights = weights.get(),
                                                                .frame = frame_.get(),
                                                                .runner = &SerialRunner(),
                                                                .pass = {}},
                                                               judge_options_.shape)
                             .value();
    const auto objective =
        inference::train::MakeObjective(
            *model_, examples,
            {.loss = {.kind = inference::train::LossKind::kBlockDiffusion, .block_length = length},
             .batch = 4,
             .seed = 3})
            .value();
    const federation::GlobalState base = federation::EmptyState(plan_, Round());
    const auto trained =
        trainer->Train(base.values, *objective, {.learning_rate = 5e-3, .count = 24}, nullptr)
            .value();
    Contribution contribution{.plan = plan_.Id(),
                              .round = Round(),
                              .base_round = Round() - 1,
                              .schedule = federation::HistogramOf(trained.maskings),
                              .banks = {0},
                              .floats = trained.values.front(),
                              .units = {}};
    return Named(std::move(contribution));
  }
  RoundContribution Named(Contribution contribution) {
    RoundContribution one{.members = {}, .contribution = std::move(contribution)};
    one.origin = one.id = Sha256(fmt::format("node {}", ++nodes_));
    return one;
  }
  // What a cluster of these nodes and of judges that measured the same makes of the round.
  federation::BankedValues Combined(const std::vector<RoundContribution>& nodes,
                                    const federation::Verdict& verdict,
                                    federation::Strategy strategy) {
    LearnerPlan plan = plan_;
    plan.strategy.strategy = strategy;
    plan.rule = "mean";
    std::vector<RoundContribution> set = nodes;
    federation::RoundSet borrowed;
    for (RoundContribution& one : set) {
      one.contribution.plan = plan.Id();
      borrowed.contributions.push_back(&one);
    }
    std::vector<federation::RoundVerdict> verdicts;
    for (uint8_t judge = 1; judge <= 3; ++judge) {
      verdicts.push_back({.id = {judge}, .judge = {judge}, .verdict = verdict});
    }
    for (const federation::RoundVerdict& one : verdicts) {
      borrowed.verdicts.push_back(&one);
    }
    const auto state = ApplyRounds(plan, federation::EmptyState(plan, Round()), borrowed, Round());
    EXPECT_TRUE(state.ok()) << state.status();
    return state.ok() ? state->values : federation::BankedValues();
  }

  static constexpr char kText[] = " counted seven ships every evening and wrote it into the book.";

 private:
  int nodes_ = 0;
};

TEST_F(UnlikeNodesTest, EachStrategyMakesAnotherAdapterOfThem) {
  AddJudges("", 8);
  // Completions of one word are masked whole, at t = 1; long ones at all t; of many blocks, each of
  // which is masked by its own share, about half.
  const std::vector<RoundContribution> nodes = {
      OfLessons({" ships", " book", " house", " keeper"}),
      OfLessons({kText, " counted two ships every evening and wrote it down."}), OfBlocks(4),
      OfBlocks(16)};
  std::set<federation::TimestepHistogram> schedules;
  for (const RoundContribution& node : nodes) {
    schedules.insert(node.contribution.schedule);
  }
  EXPECT_EQ(schedules.size(), nodes.size());
  const auto measured = Judge(nodes);
  ASSERT_TRUE(measured.ok()) << measured.status();
  std::set<federation::BankedValues> results;
  for (const auto strategy :
       {federation::Strategy::kTimestepAligned, federation::Strategy::kQualityWeighted,
        federation::Strategy::kScheduleSimilarity, federation::Strategy::kHybrid}) {
    results.insert(Combined(nodes, measured->verdict, strategy));
  }
  EXPECT_EQ(results.size(), 4U);
}

}  // namespace
}  // namespace ruvd::sharing
