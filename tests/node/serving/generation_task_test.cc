// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests one completion from its admission to what is stored about it, without a node.

#include "node/serving/generation_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/adapter/bank.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/serving/compute_round.h"
#include "node/serving/extensions/embedded_prompts.h"
#include "node/serving/extensions/guided_retrieval.h"
#include "node/serving/extensions/pattern_relations.h"
#include "node/serving/extensions/route_choice.h"
#include "node/serving/extensions/session_memory.h"
#include "node/serving/late_embedding.h"
#include "node/serving/pattern_payload.h"
#include "tests/inference/counting_transformer.h"
#include "tests/inference/end_of_turn_model.h"
#include "tests/node/database_fixture.h"
#include "tests/node/router_world.h"

namespace ruvd::serving {
namespace {

class KeptEnd final : public GenerationListener {
 public:
  void OnStarted(const GenerationStarted&) override {}
  void OnStep(const inference::StepResult& step) override { steps.push_back(step); }
  void OnEnd(const absl::StatusOr<GenerationFinished>& result) override { end = result; }
  bool cancelled() const override { return false; }

  std::vector<inference::StepResult> steps;
  absl::StatusOr<GenerationFinished> end = absl::UnknownError("it goes on");
};

class KeptEntries final : public RequestRecorder {
 public:
  void Record(storage::WitnessEntry entry) override { entries.push_back(std::move(entry)); }
  std::vector<storage::WitnessEntry> entries;
};

class GenerationTaskTest : public DatabaseTest {
 protected:
  void Use(std::shared_ptr<const inference::Model> model, uint64_t adapter_budget = 1 << 20) {
    model_ = std::move(model);
    inner_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    transformer_ = std::make_unique<test::CountingTransformer>(*inner_);
    patterns_ = storage::PatternStore::Open(
                    *database_, {.dimension = static_cast<uint32_t>(model_->config().width)})
                    .value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    catalog_ =
        std::make_unique<AdapterCatalog>(*model_, AdapterCatalogOptions{.budget = adapter_budget});
    adapters_ = std::make_unique<AdapterSource>(*patterns_, *model_, inference::SelectionOptions(),
                                                *catalog_);
    services_ = {.clock = &clock_,
                 .adapters = adapters_.get(),
                 .trajectories = trajectories_.get(),
                 .fence = &fence_,
                 .model_name = "tiny",
                 .extensions = {&session_memory_}};
  }
  // Makes a completion that uses a session's memory.
  std::unique_ptr<GenerationTask> Task(const inference::SamplingOptions& options) {
    listener_ = std::make_shared<KeptEnd>();
    GenerationJob job;
    job.prompt = "once";
    job.options = options;
    job.session_id = "s";
    job.user_id = "ann";
    job.session_memory = true;
    job.listener = listener_;
    return std::make_unique<GenerationTask>(services_, "r", std::move(job));
  }
  void RunToEnd(GenerationTask* task) {
    std::vector<RoundTask> tasks = {{.task = task}};
    inference::StepScratch scratch;
    while (RunRound(tasks, 4096, *transformer_, &scratch).turns[0] != Turn::kEnded) {
    }
    ASSERT_TRUE(task->NeedsConclusion());
    EXPECT_EQ(task->generation(), nullptr);
    task->Conclude();
  }
  GenerationFinished Run(const inference::SamplingOptions& options) {
    const auto task = Task(options);
    RunToEnd(task.get());
    EXPECT_TRUE(listener_->end.ok()) << listener_->end.status();
    return listener_->end.value_or(GenerationFinished());
  }
  // Returns the token that the last run committed first, with its position.
  inference::Commit First() const { return listener_->steps.front().commits.front(); }

  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::Transformer> inner_;
  std::unique_ptr<test::CountingTransformer> transformer_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<AdapterCatalog> catalog_;
  std::unique_ptr<AdapterSource> adapters_;
  ErasureFence fence_{clock_};
  InstantLoop instant_{{.clock = &clock_}};
  SessionMemory session_memory_{instant_};
  GenerationServices services_;
  std::shared_ptr<KeptEnd> listener_;
};

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
  std::vector<RoundTask> tasks = {{.task = task.get()}};
  inference::StepScratch scratch;
  RunRound(tasks, 4096, *transformer_, &scratch);
  clock_.Advance(std::chrono::seconds(1));
  fence.Forget("ann");
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
  std::vector<RoundTask> tasks = {{.task = task.get()}};
  inference::StepScratch scratch;
  RunRound(tasks, 4096, *transformer_, &scratch);
  fence.Forget("ann");
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
    const auto found = guided.usual_entropy().find(mode);
    return found == guided.usual_entropy().end() ? 0 : found->second.Count(1);
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

// A pattern at the threshold is found for a session whose feedback supported it, and for no other
// session.
TEST_F(GenerationTaskTest, RelationsOfItsSessionMoveWhatIsFound) {
  Use(test::TinyTextModel());
  const inference::SamplingOptions options = {.mode = inference::DecodingMode::kAutoregressive,
                                              .max_tokens = 2};
  Run(options);
  const storage::Trajectory first = trajectories_->Get("r").value();
  const std::string target = "blk.1.attn_output.weight";
  inference::Adapter adapter =
      *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 1);
  const storage::PatternId id{7};
  ASSERT_TRUE(
      patterns_
          ->Put({.id = id,
                 .embedding = EmbeddingOf(first, *inner_, nullptr, {}).value(),
                 .bank = static_cast<uint32_t>(inference::BankOf(1)),
                 .created_ms = 1,
                 .updated_ms = 1,
                 .adapter_name = adapter.name,
                 .adapter_version = adapter.version,
                 .payload = EncodePatternPayload({.adapter = inference::EncodeAdapter(adapter)})})
          .ok());
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

// Tests completions with a router.
class RoutedGenerationTest : public GenerationTaskTest {
 protected:
  // Takes `route` wherever it is open.
  void Route(size_t route, double exploration = 0) {
    router_ = std::make_unique<RequestRouter>(
        RequestRouterOptions{.kind = kind_, .exploration = exploration, .seed = 3});
    ASSERT_TRUE(router_->Serve(test::RouterThatTakes(route)).ok());
    route_choice_ = std::make_unique<RouteChoice>(*router_);
    services_.extensions = {route_choice_.get(), &session_memory_};
  }
  const std::optional<storage::TrajectoryRoute>& Taken() {
    trajectory_ = trajectories_->Get("r").value();
    return trajectory_.route;
  }
  std::vector<inference::TokenId> Tokens() const {
    std::vector<inference::TokenId> tokens;
    for (const inference::StepResult& step : listener_->steps) {
      for (const inference::Commit& commit : step.commits) {
        tokens.push_back(commit.token);
      }
    }
    return tokens;
  }

  const inference::SamplingOptions diffusion_ = {
      .mode = inference::DecodingMode::kDiffusion, .max_tokens = 12, .ignore_end_of_text = true};
  inference::ScorerKind kind_ = inference::ScorerKind::kLogistic;
  std::unique_ptr<RequestRouter> router_;
  std::unique_ptr<RouteChoice> route_choice_;
  storage::Trajectory trajectory_;
};

TEST_F(RoutedGenerationTest, WhatIsLeftOpenIsChosenAndRecorded) {
  Use(test::TinyTextModel());
  EXPECT_EQ(Run(diffusion_).steps, 12);
  EXPECT_FALSE(Taken().has_value()) << "nobody chose";
  Route(kRouteHalfSteps);
  const GenerationFinished finished = Run(diffusion_);
  EXPECT_EQ(finished.steps, 6);
  ASSERT_TRUE(finished.route.has_value());
  EXPECT_EQ(finished.route->name, "half_steps");
  EXPECT_FALSE(finished.route->explored);
  EXPECT_GT(finished.route->probability, 0.9);
  ASSERT_TRUE(Taken().has_value());
  const storage::TrajectoryRoute& taken = *trajectory_.route;
  EXPECT_EQ(taken.name, "half_steps");
  EXPECT_THAT(taken.others, ::testing::ElementsAre("as_asked", "approximate_cache"))
      << "no adapter would act";
  EXPECT_EQ(taken.propensity, 1);
  EXPECT_EQ(taken.tokens, 12u);
  ASSERT_EQ(taken.features.size(), inference::kRouterFeatures);
  EXPECT_EQ(taken.features[2], 1) << "diffusion";
  EXPECT_EQ(taken.features[13], 0) << "without a first forward";
}

TEST_F(RoutedGenerationTest, BlocksAndTheCacheAreServedAsChosen) {
  Use(test::TinyTextModel());
  Route(kRouteHalfSteps);
  const inference::SamplingOptions block = {
      .mode = inference::DecodingMode::kBlock, .max_tokens = 12, .ignore_end_of_text = true};
  EXPECT_LE(Run(block).steps, 8);
  EXPECT_EQ(Taken()->name, "half_steps");
  Route(kRouteApproximateCache);
  EXPECT_EQ(Run(diffusion_).route->name, "approximate_cache");
  EXPECT_EQ(Run(block).route->name, "as_asked") << "its cache is exact";
}

TEST_F(RoutedGenerationTest, WhatTheRequestAskedForStays) {
  Use(test::TinyTextModel());
  Route(kRouteHalfSteps);
  inference::SamplingOptions asked = diffusion_;
  asked.steps = 12;
  const GenerationFinished finished = Run(asked);
  EXPECT_EQ(finished.steps, 12);
  EXPECT_FALSE(finished.route.has_value()) << "nothing was open";
  EXPECT_FALSE(Taken().has_value());
  Run({.mode = inference::DecodingMode::kAutoregressive, .max_tokens = 4});
  EXPECT_FALSE(Taken().has_value());
}

TEST_F(RoutedGenerationTest, ServingAsAskedGivesWhatItGivesWithoutARouter) {
  Use(test::TinyTextModel());
  Run(diffusion_);
  const std::vector<inference::TokenId> without = Tokens();
  Route(kRouteAsAsked);
  EXPECT_EQ(Run(diffusion_).route->name, "as_asked");
  EXPECT_EQ(Tokens(), without);
}

TEST_F(RoutedGenerationTest, WithoutAdaptersNoneActs) {
  Use(test::TinyTextModel());
  const std::string target = "blk.1.attn_output.weight";
  const std::string file = folder_ / "one.gguf";
  ASSERT_TRUE(
      inference::SaveAdapterFile(
          *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 1),
          *model_, file)
          .ok());
  Run(diffusion_);
  const std::vector<inference::TokenId> base = Tokens();
  ASSERT_TRUE(catalog_->LoadConfigured(std::vector<std::string>{file}).ok());
  EXPECT_EQ(Run(diffusion_).adapters.size(), 1u);
  const std::vector<inference::TokenId> adapted = Tokens();
  ASSERT_NE(adapted, base);
  Route(kRouteNoAdapters);
  const GenerationFinished finished = Run(diffusion_);
  EXPECT_TRUE(finished.adapters.empty());
  EXPECT_EQ(finished.route->name, "no_adapters");
  EXPECT_EQ(Tokens(), base);
  EXPECT_TRUE(trajectories_->Get("r")->adapters.empty());
}

TEST_F(RoutedGenerationTest, ACascadeReadsTheFirstForward) {
  Use(test::TinyTextModel());
  kind_ = inference::ScorerKind::kCascade;
  Route(kRouteAsAsked);
  Run(diffusion_);
  ASSERT_TRUE(Taken().has_value());
  EXPECT_EQ(trajectory_.route->features[13], 1);
  EXPECT_GT(trajectory_.route->features[14], 0);
  EXPECT_GT(trajectory_.route->features[15], 0);
}

// The cache needs more memory than there is: the request is served as it asked, and that does not
// count as an outcome.
TEST_F(RoutedGenerationTest, AWayThatDoesNotFitIsNotTaken) {
  Use(test::TinyTextModel());
  auto pool =
      inference::KvPool::Create(model_->config(), inference::KvFormat::kF32, 1 << 30).value();
  const uint64_t page = pool->layout().page_bytes();
  const inference::SamplingOptions longer = {
      .mode = inference::DecodingMode::kDiffusion, .max_tokens = 50, .ignore_end_of_text = true};
  services_.prefixes = std::make_shared<inference::PrefixTree>(
      inference::KvPool::Create(model_->config(), inference::KvFormat::kF32, page).value());
  Route(kRouteApproximateCache);
  const GenerationFinished finished = Run(longer);
  EXPECT_EQ(finished.steps, 50);
  EXPECT_FALSE(finished.route.has_value());
  EXPECT_FALSE(Taken().has_value());
}

// Tests which forwards a completion needs besides those of its steps.
class PromptForwardTest : public GenerationTaskTest {
 protected:
  static inference::SamplingOptions In(inference::DecodingMode mode) {
    return {.mode = mode, .max_tokens = 5, .ignore_end_of_text = true};
  }
  // Returns the sequences that the next completion forwards besides those of its steps.
  size_t Others(const inference::SamplingOptions& options) {
    transformer_->sequences.clear();
    const GenerationFinished finished = Run(options);
    size_t all = 0;
    for (const size_t sequences : transformer_->sequences) {
      all += sequences;
    }
    return all - static_cast<size_t>(finished.forwards);
  }
  void StoreAPattern() {
    std::vector<float> elsewhere(static_cast<size_t>(model_->config().width));
    elsewhere.front() = 1;
    ASSERT_TRUE(patterns_->Put({.id = storage::PatternId{1}, .embedding = elsewhere}).ok());
  }
};

TEST_F(PromptForwardTest, WhereNothingCanBeFoundNoPromptIsEmbedded) {
  Use(test::TinyTextModel());
  GuidedRetrieval guided({.strategy = inference::DgrStrategy::kHybrid, .interval = 1}, *adapters_,
                         nullptr);
  services_.extensions.push_back(&guided);
  for (const auto mode : {inference::DecodingMode::kAutoregressive, inference::DecodingMode::kBlock,
                          inference::DecodingMode::kDiffusion}) {
    inference::SamplingOptions options = In(mode);
    options.block_length = mode == inference::DecodingMode::kBlock ? 4 : 0;
    EXPECT_EQ(Others(options), 0u);
    EXPECT_TRUE(trajectories_->Get("r")->embedding.empty());
  }
  // Whatever needs it later computes the same.
  const std::vector<inference::TokenId> prompt = PromptTokens(*model_, "once");
  EXPECT_EQ(EmbeddingOf(*trajectories_->Get("r"), *inner_, nullptr, {}).value(),
            inference::EmbedText(*inner_, prompt, nullptr).value());
}

TEST_F(PromptForwardTest, AStoredPatternOrAnExtensionAsksForTheEmbedding) {
  Use(test::TinyTextModel());
  EmbeddedPrompts embedded;
  services_.extensions.push_back(&embedded);
  EXPECT_EQ(Others(In(inference::DecodingMode::kDiffusion)), 1u);
  const std::vector<float> embedding = trajectories_->Get("r")->embedding;
  EXPECT_EQ(embedding.size(), static_cast<size_t>(model_->config().width));
  services_.extensions.clear();
  StoreAPattern();
  EXPECT_EQ(Others(In(inference::DecodingMode::kDiffusion)), 1u);
  EXPECT_EQ(trajectories_->Get("r")->embedding, embedding);
}

TEST_F(PromptForwardTest, TheEmbeddingsForwardIsTheFirstOfDecodingTokenByToken) {
  const auto model = std::make_shared<test::TextModel>();
  model->mutable_config().causal = true;
  Use(model);
  StoreAPattern();
  services_.prefixes = std::make_shared<inference::PrefixTree>(
      inference::KvPool::Create(model_->config(), inference::KvFormat::kF32, 1 << 24).value());
  transformer_->sequences.clear();
  const GenerationFinished finished = Run(In(inference::DecodingMode::kAutoregressive));
  EXPECT_EQ(finished.forwards, 4) << "the first token comes from the embedding's forward";
  EXPECT_EQ(transformer_->sequences.size(), 5u) << "the prompt once, and each token but the last";
  EXPECT_FALSE(trajectories_->Get("r")->embedding.empty());
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
