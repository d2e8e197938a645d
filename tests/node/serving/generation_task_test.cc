// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests one completion from its admission to what is stored about it, without a node.

#include "node/serving/generation_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inference/adapter/adapter_file.h"
#include "node/serving/extensions/guided_retrieval.h"
#include "node/serving/extensions/pattern_relations.h"
#include "node/serving/late_embedding.h"
#include "tests/inference/end_of_turn_model.h"
#include "tests/node/serving/embedded_prompts.h"
#include "tests/node/serving/generation_fixture.h"

namespace ruvd::serving {
namespace {

// Found by review: an edit rejected the token that ended the text, and everything committed after
// it.
TEST_F(GenerationTaskTest, AnEditThatChangesNothingRejectsNothing) {
  const inference::SamplingOptions options = {.mode = inference::DecodingMode::kDiffusion,
                                              .max_tokens = 16};
  Use(test::TextModelWithEndOfTurn(inference::kNoToken));
  Run(options);
  const inference::Commit first = First();
  ASSERT_GT(first.position, 0);
  Use(test::TextModelWithEndOfTurn(first.token));
  const GenerationFinished finished = Run(options);
  ASSERT_EQ(finished.reason, inference::FinishReason::kEndOfText);
  const auto tokens = static_cast<size_t>(finished.completion_tokens);
  std::vector<inference::TokenId> text;  // what the user saw and sends back
  for (const inference::StepResult& step : listener_->steps) {
    for (const inference::Commit& commit : step.commits) {
      text.resize(std::max(text.size(), static_cast<size_t>(commit.position) + 1));
      text[static_cast<size_t>(commit.position)] = commit.token;
    }
  }
  text.resize(tokens - 1);
  EXPECT_EQ(instant_.LearnEdit("r", text).value(), tokens - 1);
  EXPECT_EQ(instant_.LearnReward("r", 1).value(), tokens);
}

TEST_F(GenerationTaskTest, AUserWhoWasForgottenMeanwhileLeavesNothing) {
  Use(test::TinyTextModel());
  const inference::SamplingOptions options = {.mode = inference::DecodingMode::kAutoregressive,
                                              .max_tokens = 4};
  const auto task = Task(options);
  clock_.Advance(std::chrono::seconds(1));
  instant_.ForgetUser("ann");
  RunToEnd(task.get());
  EXPECT_TRUE(listener_->end.ok());
  EXPECT_EQ(instant_.status().trails, 0U);
  clock_.Advance(std::chrono::seconds(1));
  Run(options);
  EXPECT_EQ(instant_.status().trails, 1U);
}

// Regression test: the trajectory was stored after the erasure, under a new key of the user.
TEST_F(GenerationTaskTest, ACompletionWhoseUserIsErasedMeanwhileLeavesNothing) {
  Use(test::TinyTextModel());
  ErasureFence fence(clock_);
  KeptEntries recorder;
  services_.fence = &fence;
  services_.recorder = &recorder;
  const inference::SamplingOptions options = {.mode = inference::DecodingMode::kAutoregressive,
                                              .max_tokens = 4};
  const auto task = Task(options);
  std::vector<ComputeRoundTask> tasks = {{.task = task.get()}};
  inference::StepScratch scratch;
  RunComputeRound(tasks, 4096, *transformer_, &scratch);
  clock_.Advance(std::chrono::seconds(1));
  fence.FenceUser("ann");
  RunToEnd(task.get());
  EXPECT_TRUE(listener_->end.ok()) << "whoever waits for it gets it";
  EXPECT_EQ(trajectories_->size(), 0U);
  EXPECT_EQ(instant_.status().trails, 0U);
  ASSERT_EQ(recorder.entries.size(), 1U) << "what it cost still counts";
  EXPECT_EQ(recorder.entries.front().user_id, "");
  EXPECT_EQ(recorder.entries.front().session_id, "");
  EXPECT_TRUE(recorder.entries.front().query_embedding.empty());
  EXPECT_GT(recorder.entries.front().completion_tokens, 0U);

  clock_.Advance(std::chrono::seconds(1));
  Run(options);
  EXPECT_EQ(trajectories_->size(), 1U) << "what the user says afterwards is the user's again";
  EXPECT_EQ(recorder.entries.back().user_id, "ann");
}

TEST_F(GenerationTaskTest, AFailedRequestOfAnErasedUserLeavesNoEmbedding) {
  Use(test::TinyTextModel());
  ErasureFence fence(clock_);
  KeptEntries recorder;
  services_.fence = &fence;
  services_.recorder = &recorder;
  const auto task = Task({.mode = inference::DecodingMode::kAutoregressive, .max_tokens = 4});
  std::vector<ComputeRoundTask> tasks = {{.task = task.get()}};
  inference::StepScratch scratch;
  RunComputeRound(tasks, 4096, *transformer_, &scratch);
  fence.FenceUser("ann");
  task->Fail(absl::CancelledError("gone"));
  ASSERT_EQ(recorder.entries.size(), 1U);
  EXPECT_TRUE(recorder.entries.front().query_embedding.empty());
  EXPECT_TRUE(recorder.entries.front().error.has_value());
}

TEST_F(GenerationTaskTest, WhatIsUsualIsKnownForEachMode) {
  Use(test::TinyTextModel());
  GuidedRetrieval guided({.strategy = inference::DgrStrategy::kEntropy, .max_retrievals = 0},
                         *adapters_, nullptr);
  services_.extensions.push_back(&guided);
  const auto count = [&guided](inference::DecodingMode mode) {
    const auto found = guided.entropy_baseline().find(mode);
    return found == guided.entropy_baseline().end() ? 0 : found->second.Count(1);
  };
  Run({.mode = inference::DecodingMode::kAutoregressive,
       .max_tokens = 6,
       .ignore_end_of_text = true});
  EXPECT_EQ(count(inference::DecodingMode::kAutoregressive), 6);
  EXPECT_EQ(count(inference::DecodingMode::kDiffusion), 0);
  Run({.mode = inference::DecodingMode::kDiffusion, .max_tokens = 4, .ignore_end_of_text = true});
  EXPECT_EQ(count(inference::DecodingMode::kAutoregressive), 6);
  EXPECT_EQ(count(inference::DecodingMode::kDiffusion), 1);
}

TEST_F(GenerationTaskTest, AnUncertainCompletionGetsOtherAdaptersOnTheWay) {
  Use(test::TinyTextModel());
  test::EmbeddedPrompts embedded;
  GuidedRetrieval guided({.strategy = inference::DgrStrategy::kHybrid,
                          .interval = 1,
                          .max_retrievals = 8,
                          .min_interval = 1,
                          .min_t = 0,
                          .uncertain_share = 0},
                         *adapters_, nullptr);
  services_.extensions = {&embedded, &guided};
  const auto task = Task({.mode = inference::DecodingMode::kAutoregressive,
                          .max_tokens = 12,
                          .ignore_end_of_text = true});
  std::vector<ComputeRoundTask> tasks = {{.task = task.get()}};
  inference::StepScratch scratch;
  RunComputeRound(tasks, 4096, *transformer_, &scratch);  // chooses, and finds nothing
  const storage::PatternId id =
      PutPattern(inference::EmbedText(*inner_, PromptTokens(*model_, "once"), nullptr).value());
  RunToEnd(task.get());
  ASSERT_TRUE(listener_->end.ok()) << listener_->end.status();
  ASSERT_EQ(listener_->end->adapters.size(), 1u);
  EXPECT_EQ(listener_->end->adapters.front().pattern_id, ToHex(id));
  EXPECT_THAT(trajectories_->Get("r")->patterns, ::testing::ElementsAre(id));
}

// A pattern at the threshold is found for a session whose feedback supported it, and for no other
// session.
TEST_F(GenerationTaskTest, RelationsOfItsSessionMoveWhatIsFound) {
  Use(test::TinyTextModel());
  const inference::SamplingOptions options = {.mode = inference::DecodingMode::kAutoregressive,
                                              .max_tokens = 2};
  Run(options);
  const storage::Trajectory first = trajectories_->Get("r").value();
  const storage::PatternId id = PutPattern(EmbeddingOf(first, *inner_, nullptr, {}).value());
  inference::SelectionOptions selection;
  selection.threshold = 1.001F;  // above every cosine
  adapters_ = std::make_unique<AdapterSource>(*patterns_, *model_, selection, *catalog_);
  services_.adapters = adapters_.get();
  const auto graph = storage::GraphStore::Open(*database_).value();
  const auto sessions =
      storage::SessionIndex::Open(*database_,
                                  {.dimension = static_cast<uint32_t>(model_->config().width)})
          .value();
  ASSERT_TRUE(sessions->Put({.session_id = "s", .user_id = "ann"}).ok());
  PatternGraph relations(*graph, *patterns_, *sessions, /*on=*/true);
  PatternRelations extension(relations);
  services_.extensions.push_back(&extension);
  EXPECT_TRUE(Run(options).adapters.empty());
  EXPECT_TRUE(trajectories_->Get("r")->patterns.empty());
  ASSERT_TRUE(
      relations.Vote({.response_id = "q", .session_id = "s", .user_id = "ann", .patterns = {id}}, 1)
          .value());
  EXPECT_EQ(Run(options).adapters.size(), 1u);
  EXPECT_THAT(trajectories_->Get("r")->patterns, ::testing::ElementsAre(id));
}

// What is read before the first slice is not read again in it.
TEST_F(GenerationTaskTest, ColdAdaptersAreReadBeforeTheFirstSlice) {
  Use(test::TinyTextModel(), /*adapter_budget=*/1);
  const std::string target = "blk.1.attn_output.weight";
  const std::string file = folder_ / "one.gguf";
  ASSERT_TRUE(
      inference::SaveAdapterFile(
          *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 1),
          *model_, file)
          .ok());
  ASSERT_TRUE(catalog_->LoadConfigured(std::vector<std::string>{file}).ok());
  const inference::SamplingOptions options = {.mode = inference::DecodingMode::kAutoregressive,
                                              .max_tokens = 2};
  auto task = Task(options);
  ASSERT_TRUE(task->NeedsPreparation());
  task->Prepare();
  EXPECT_FALSE(task->NeedsPreparation());
  std::filesystem::remove(file);
  RunToEnd(task.get());
  ASSERT_TRUE(listener_->end.ok()) << listener_->end.status();
  EXPECT_EQ(listener_->end->adapters.size(), 1U);
  task.reset();  // the adapter goes with it
  // If it cannot be read, the request fails.
  const auto other = Task(options);
  ASSERT_TRUE(other->NeedsPreparation());
  other->Prepare();
  RunToEnd(other.get());
  EXPECT_FALSE(listener_->end.ok());
}

}  // namespace
}  // namespace ruvd::serving
