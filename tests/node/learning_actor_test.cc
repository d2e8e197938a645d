// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which feedback a start finds that no round has taken.

#include "node/actors/learning_actor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/sim_executor.h"
#include "base/status.h"
#include "inference/model/cpu_transformer.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd {
namespace {

constexpr int kCallsBeforePatternsAreRead = 2;

class LearningActorTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<CpuTransformer>(model_, SerialRunner());
    metrics_ = Metrics::Create("").value();
    const auto width = static_cast<uint32_t>(model_->config().width);
    patterns_ = PatternStore::Open(*database_, {.dimension = width}).value();
    trajectories_ = TrajectoryStore::Open(*database_, {}).value();
    ASSERT_TRUE(
        trajectories_
            ->Put({.response_id = "r",
                   .prompt = "The lighthouse keeper",
                   .completion = " counted the ships every evening.",
                   .embedding = std::vector<float>(width, 1 / std::sqrt(static_cast<float>(width))),
                   .embedded_by = std::string(AsText(package_)),
                   .created_ms = clock_.WallMillis()})
            .ok());
    Start();
  }
  // As a node starts.
  void Start() {
    system_ = std::make_unique<ActorSystem>(executor_, ActorSystemOptions{});
    LearningActorOptions options{
        .services = {.clock = &executor_.clock(),
                     .transformer = transformer_.get(),
                     .trajectories = trajectories_.get(),
                     .patterns = patterns_.get(),
                     .package_id = package_,
                     .cancelled =
                         [this, calls = 0]() mutable {
                           if (++calls > kCallsBeforePatternsAreRead && on_training_) {
                             std::exchange(on_training_, nullptr)();
                           }
                           return false;
                         }},
        .round = {.steps = 3, .min_improvement = -100},
        .enabled = enabled_,
        .round_after_age = std::chrono::seconds(60),
        .pool = &executor_,
        .metrics = metrics_.get(),
        .on_pattern = [this](const PatternId& id) { learned_.push_back(id); },
    };
    learning_ = StartLearningActor(*system_, options);
    executor_.RunFor(std::chrono::seconds(1));
  }
  FeedbackAnswer Accept() {
    absl::StatusOr<FeedbackAnswer> answer = absl::UnknownError("no answer");
    EXPECT_TRUE(learning_
                    ->Submit({.response_id = "r", .accepted = true},
                             [&](absl::StatusOr<FeedbackAnswer> given) { answer = given; })
                    .ok());
    executor_.RunFor(std::chrono::seconds(1));
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(FeedbackAnswer{});
  }
  void PassTheAgeOfARound() { executor_.RunFor(std::chrono::seconds(200)); }

  SimExecutor executor_{1};
  bool enabled_ = true;
  Digest package_ = Sha256("package");
  std::shared_ptr<const Model> model_;
  std::unique_ptr<CpuTransformer> transformer_;
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<PatternStore> patterns_;
  std::unique_ptr<TrajectoryStore> trajectories_;
  std::unique_ptr<ActorSystem> system_;
  std::unique_ptr<LearningActor> learning_;
  std::vector<PatternId> learned_;
  std::function<void()> on_training_;
};

// What was learned since was measured by the patterns that are left, so that who deleted one got it
// back under another id, and at peers, too.
TEST_F(LearningActorTest, ADeletedPatternDoesNotComeBackWithTheNextStart) {
  ASSERT_TRUE(Accept().learned);
  ASSERT_EQ(learned_.size(), 1u);
  ASSERT_TRUE(patterns_->Delete(learned_[0]).ok());
  Start();
  PassTheAgeOfARound();
  EXPECT_EQ(patterns_->size(), 0u);
  EXPECT_EQ(learned_.size(), 1u);
}

TEST_F(LearningActorTest, FeedbackThatNoRoundTookIsLearnedAfterTheNextStart) {
  system_.reset();
  ASSERT_TRUE(trajectories_->SetFeedback("r", {.accepted = true}).ok());
  Start();
  PassTheAgeOfARound();
  EXPECT_EQ(patterns_->size(), 1u);
}

TEST_F(LearningActorTest, WhatOneModelLearnedAnotherLearnsAnew) {
  ASSERT_TRUE(Accept().learned);
  package_ = Sha256("another package");
  Start();
  PassTheAgeOfARound();
  EXPECT_EQ(learned_.size(), 2u);
}

TEST_F(LearningActorTest, ANodeThatDoesNotLearnStartsNoRoundForWhatItFinds) {
  enabled_ = false;
  Start();
  EXPECT_FALSE(Accept().learned);
  Start();
  PassTheAgeOfARound();
  EXPECT_EQ(patterns_->size(), 0u);
}

TEST_F(LearningActorTest, APatternThatIsDeletedWhileItTrainsIsNotToldAsOneThatDidNotHelp) {
  ASSERT_TRUE(Accept().learned);
  on_training_ = [&] { ASSERT_TRUE(patterns_->Delete(learned_[0]).ok()); };
  EXPECT_NE(Accept().explanation.find("was deleted"), std::string::npos);
}

}  // namespace
}  // namespace ruvd
