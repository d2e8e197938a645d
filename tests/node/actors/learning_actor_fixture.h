// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/sim_executor.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/actors/learning_actor.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"
#include "tests/node/router_world.h"

namespace ruvd::actors {

// Tests the learning actor with the stores of a node, a small model and a simulated clock.
class LearningActorTest : public DatabaseTest {
 protected:
  static constexpr int kCallsBeforePatternsAreRead = 2;

  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    metrics_ = metrics::Metrics::Create("").value();
    const auto width = static_cast<uint32_t>(model_->config().width);
    embedding_.assign(width, 1 / std::sqrt(static_cast<float>(width)));
    other_ = embedding_;  // orthogonal to the former
    for (size_t i = 0; i < other_.size(); i += 2) {
      other_[i] = -other_[i];
    }
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = width}).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    answers_ = storage::FeedbackAnswerStore::Open(*database_).value();
    AddResponse("r", embedding_);
    Start();
  }
  void AddResponse(const std::string& id, const std::vector<float>& embedding) {
    ASSERT_TRUE(trajectories_
                    ->Put({.response_id = id,
                           .session_id = "session",
                           .prompt = "The lighthouse keeper",
                           .completion = " counted the ships every evening.",
                           .embedding = embedding,
                           .embedded_by = std::string(AsText(package_)),
                           .created_ms = clock_.WallMillis()})
                    .ok());
  }
  // Keeps the commits of a response, so that its session may learn from them.
  void KeepCommits(const std::string& id) {
    serving::InstantTrail trail{.session = {"", "session"}, .commits = inference::CommitTrail(1)};
    const std::array<float, 1> hidden = {1};
    const std::array<inference::TokenProbability, 1> candidates = {{{inference::TokenId{1}, 0.5F}}};
    trail.commits.Add(0, inference::TokenId{1}, 0.5F, hidden, candidates);
    instant_->StoreTrail(id, std::move(trail));
  }
  // Starts the actor as a node does.
  void Start() {
    instant_ = std::make_unique<serving::InstantLoop>(
        serving::InstantLoopOptions{.clock = &executor_.clock()});
    system_ = std::make_unique<runtime::ActorSystem>(executor_, runtime::ActorSystemOptions{});
    LearningActorOptions options{
        .services = {.clock = &executor_.clock(),
                     .transformer = transformer_.get(),
                     .trajectories = trajectories_.get(),
                     .patterns = patterns_.get(),
                     .package_id = package_,
                     .changes = changes_.get(),
                     .cancelled =
                         [this, calls = 0]() mutable {
                           if (++calls > kCallsBeforePatternsAreRead && on_training_) {
                             std::exchange(on_training_, nullptr)();
                           }
                           return false;
                         }},
        .round = {.training = {.steps = 3, .min_improvement = -100}},
        .enabled = enabled_,
        .disabled_because = "the model has no mask token",
        .round_after_age = std::chrono::seconds(60),
        .pool = &executor_,
        .metrics = metrics_.get(),
        .answers = answers_.get(),
        .instant = instant_.get(),
        .router = router_learner_.get(),
        .on_pattern = [this](const storage::PatternId& id) { learned_.push_back(id); },
    };
    learning_ = StartLearningActor(*system_, options);
    executor_.RunFor(std::chrono::seconds(1));
  }
  learning::FeedbackAnswer Accept() { return Submit({.response_id = "r", .accepted = true}); }
  learning::FeedbackAnswer Submit(const learning::Feedback& feedback) {
    absl::StatusOr<learning::FeedbackAnswer> answer = absl::UnknownError("no answer");
    EXPECT_TRUE(
        learning_
            ->Submit(feedback,
                     [&](absl::StatusOr<learning::FeedbackAnswer> given) { answer = given; })
            .ok());
    executor_.RunFor(std::chrono::seconds(1));
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(learning::FeedbackAnswer{});
  }
  learning::LearningStatus SetPaused(bool paused) {
    absl::StatusOr<learning::LearningStatus> status = absl::UnknownError("no answer");
    learning_->SetPaused(paused,
                         [&](absl::StatusOr<learning::LearningStatus> given) { status = given; });
    executor_.RunFor(std::chrono::seconds(1));
    EXPECT_TRUE(status.ok()) << status.status();
    return status.value_or(learning::LearningStatus{});
  }
  absl::StatusOr<learning::BackgroundRoundSummary> RunComputeRound(bool replay) {
    absl::StatusOr<learning::BackgroundRoundSummary> summary = absl::UnknownError("no answer");
    learning_->RunBackground(
        replay, [&](absl::StatusOr<learning::BackgroundRoundSummary> given) { summary = given; });
    executor_.RunFor(std::chrono::seconds(1));
    return summary;
  }
  absl::StatusOr<storage::LearningChange> Undo(const std::string& token) {
    absl::StatusOr<storage::LearningChange> change = absl::UnknownError("no answer");
    learning_->Undo(token, [&](absl::StatusOr<storage::LearningChange> given) { change = given; });
    executor_.RunFor(std::chrono::seconds(1));
    return change;
  }
  std::vector<storage::LearningChange> ListChanges() {
    absl::StatusOr<std::vector<storage::LearningChange>> list = absl::UnknownError("no answer");
    learning_->ListChanges(
        10, [&](absl::StatusOr<std::vector<storage::LearningChange>> given) { list = given; });
    executor_.RunFor(std::chrono::seconds(1));
    EXPECT_TRUE(list.ok()) << list.status();
    return list.value_or(std::vector<storage::LearningChange>{});
  }
  // Starts the actor with a router that learns, and with requests that it chose for.
  void StartWithRouter(int served) {
    system_.reset();
    router_ = std::make_unique<serving::RequestRouter>(
        serving::RequestRouterOptions{.exploration = 0.2, .seed = 1});
    router_learner_ =
        learning::RouterLearner::Open(
            {.router = router_.get(), .state = &state_.emplace(*database_)}, *trajectories_)
            .value();
    test::RouterWorld world(1);
    for (int i = 0; i < served; ++i) {
      storage::Trajectory trajectory = world.Serve(*router_, fmt::format("served-{}", i));
      ratings_.push_back(*std::exchange(trajectory.rating, std::nullopt));
      ASSERT_TRUE(trajectories_->Put(trajectory).ok());
    }
    Start();
  }
  void RateServed(size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      Submit({.response_id = fmt::format("served-{}", i), .rating = ratings_.at(i)});
    }
  }
  void PassTheAgeOfARound() { executor_.RunFor(std::chrono::seconds(200)); }

  SimExecutor executor_{1};
  bool enabled_ = true;
  Digest package_ = Sha256("package");
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<metrics::Metrics> metrics_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::unique_ptr<storage::FeedbackAnswerStore> answers_;
  std::unique_ptr<serving::InstantLoop> instant_;
  std::unique_ptr<serving::RequestRouter> router_;
  std::optional<storage::StateStore> state_;
  std::unique_ptr<learning::RouterLearner> router_learner_;
  std::unique_ptr<runtime::ActorSystem> system_;
  std::unique_ptr<learning::LearningActor> learning_;
  std::vector<float> embedding_;
  std::vector<float> other_;
  std::vector<storage::PatternId> learned_;
  std::vector<float> ratings_;
  std::function<void()> on_training_;
};

}  // namespace ruvd::actors
