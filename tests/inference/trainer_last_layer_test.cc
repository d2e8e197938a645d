// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/frame_set.h"
#include "inference/limits.h"
#include "inference/package/model_package.h"
#include "inference/train/run.h"
#include "inference/train/trainer.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

using test::TextModel;

std::shared_ptr<const TextModel> SeededTextModel() {
  static const auto model = std::make_shared<const TextModel>();
  return model;
}

TrainingExample Example(const std::string& prompt, const std::string& completion) {
  const auto tokens = [](const std::string& text) {
    const auto bytes = AsBytes(text);
    return std::vector<TokenId>(bytes.begin(), bytes.end());
  };
  return {.prompt = tokens(prompt), .completion = tokens(completion)};
}

// Trains a LoRA on the attention's output of the last layer.
absl::StatusOr<TrainingResult> TrainLastLayerLora(Transformer& transformer,
                                                  std::span<const TrainingExample> examples,
                                                  const AdapterMix* base,
                                                  const TrainingOptions& options) {
  const train::Site site{static_cast<size_t>(transformer.model().config().layers) - 1,
                         train::Linear::kAttentionOutput};
  return TrainLora(transformer, std::span(&site, 1), examples, {}, base, options);
}

TEST(TrainerTest, LowersTheHeldOutLossOnATinyModel) {
  CpuTransformer transformer(SeededTextModel(), SerialRunner());
  const std::vector<TrainingExample> examples = {Example("say", " hello world"),
                                                 Example("tell", " good night")};
  TrainingOptions options{.rank = 4, .steps = 60, .batch = 4, .learning_rate = 0.03F};
  const auto result = TrainLastLayerLora(transformer, examples, nullptr, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(result->held_out_after, 0.8 * result->held_out_before);
  EXPECT_EQ(result->steps, 60);
  EXPECT_FALSE(result->cores.has_value());
  EXPECT_TRUE(CheckAdapter(*result->adapter, transformer.model()).ok());
  EXPECT_EQ(result->adapter->targets.count("blk.1.attn_output.weight"), 1U);
  const auto again = TrainLastLayerLora(transformer, examples, nullptr, options);
  EXPECT_EQ(AdapterId(*again->adapter), AdapterId(*result->adapter));
  EXPECT_EQ(again->held_out_after, result->held_out_after);
}

// The scores are those of the adapter that is returned: training again on top of it starts from
// them.
TEST(TrainerTest, TheAdapterDoesWhatTheScoreSays) {
  CpuTransformer transformer(SeededTextModel(), SerialRunner());
  const std::vector<TrainingExample> examples = {Example("say", " hello world")};
  const TrainingOptions options{.rank = 3, .steps = 10, .batch = 2, .learning_rate = 0.03F};
  const auto layers = static_cast<size_t>(transformer.model().config().layers);
  for (const auto linear : {train::Linear::kAttentionOutput, train::Linear::kGate,
                            train::Linear::kUp, train::Linear::kDown, train::Linear::kHead}) {
    const std::string target(train::LinearName(linear));
    const train::Site site{linear == train::Linear::kHead ? layers : layers - 1, linear};
    const std::span<const train::Site> sites(&site, 1);
    const auto first = TrainLora(transformer, sites, examples, {}, nullptr, options);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_LT(first->held_out_after, first->held_out_before) << target;
    const AdapterMix mix{.parts = {{first->adapter, 1.0F}}};
    const auto second = TrainLora(transformer, sites, examples, {}, &mix, options);
    EXPECT_NEAR(second->held_out_before, first->held_out_after, 1e-4) << target;
    EXPECT_LT(second->held_out_after, second->held_out_before) << target;
  }
}

// Trains cores of all linear layers of the last layer.
absl::StatusOr<TrainingResult> TrainLastLayerCores(Transformer& transformer, const FrameSet& frame,
                                                   std::span<const TrainingExample> examples,
                                                   std::span<const TrainingExample> held_out,
                                                   const AdapterMix* base,
                                                   const TrainingOptions& options) {
  const ModelConfig& config = transformer.model().config();
  return TrainCores(transformer, frame,
                    train::SitesFrom(config, static_cast<size_t>(config.layers) - 1, false),
                    examples, held_out, base, options);
}

FrameSet LastLayerFrame(const Model& model, int rank) {
  return RandomFrameSet(model, LinearTargets(model, Modules::kAll, 1), rank, 3).value();
}

TEST(TrainerTest, CoresAreTheOnlyTrainedPart) {
  CpuTransformer transformer(SeededTextModel(), SerialRunner());
  const FrameSet frame = LastLayerFrame(transformer.model(), 8);
  const std::vector<TrainingExample> examples = {Example("say", " hello world")};
  const TrainingOptions options{.rank = 4, .steps = 30, .batch = 2};
  const auto result = TrainLastLayerCores(transformer, frame, examples, {}, nullptr, options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(result->held_out_after, result->held_out_before);
  ASSERT_TRUE(result->cores.has_value());
  EXPECT_EQ(result->cores->cores.size(), 7u);
  for (const auto& [target, core] : result->cores->cores) {
    EXPECT_EQ(core.rank, 4) << target;
    EXPECT_EQ(core.values.size(), 16u) << target;
  }
  EXPECT_EQ(result->adapter->kind, AdapterKind::kCore);
  const auto rebuilt = AdapterFromCores(frame, *result->cores, "overlay", 1, 1.0F).value();
  EXPECT_EQ(AdapterId(*rebuilt), AdapterId(*result->adapter));
  const AdapterMix mix{.parts = {{result->adapter, 1.0F}}};
  const auto more = TrainLastLayerCores(transformer, frame, examples, {}, &mix, options);
  EXPECT_NEAR(more->held_out_before, result->held_out_after, 1e-4);
}

TEST(TrainerTest, StopsWhenCancelled) {
  CpuTransformer transformer(SeededTextModel(), SerialRunner());
  const std::vector<TrainingExample> examples = {Example("say", " hello world")};
  int polls = 0;
  TrainingOptions options;
  options.cancelled = [&] { return ++polls == 25; };
  const auto result = TrainLastLayerLora(transformer, examples, nullptr, options);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ReasonOf(result.status()), reasons::kCancelled);
  EXPECT_EQ(polls, 25);
}

TEST(TrainerTest, ChangesTheSitesItIsGivenAndMeasuresWhatItNeverTaught) {
  CpuTransformer transformer(SeededTextModel(), SerialRunner());
  const ModelConfig& config = transformer.model().config();
  const std::vector<train::Site> sites = train::SitesFrom(config, 0, false);
  const std::vector<TrainingExample> examples = {Example("say", " hello world")};
  const std::vector<TrainingExample> held_out = {Example("tell", " good night")};
  const TrainingOptions options{.rank = 2, .steps = 30, .batch = 4, .learning_rate = 0.02F};
  const auto own = TrainLora(transformer, sites, examples, {}, nullptr, options);
  const auto other = TrainLora(transformer, sites, examples, held_out, nullptr, options);
  ASSERT_TRUE(own.ok()) << own.status();
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(own->adapter->targets.size(), sites.size());
  EXPECT_TRUE(CheckAdapter(*own->adapter, transformer.model()).ok());
  EXPECT_EQ(AdapterId(*own->adapter), AdapterId(*other->adapter)) << "measuring teaches nothing";
  EXPECT_LT(own->held_out_after, 0.8 * own->held_out_before);
  EXPECT_NE(own->held_out_before, other->held_out_before);
}

// Regression test: only completions were counted, so prompts of a thousand tokens could take any
// amount of memory.
TEST(TrainerTest, LongPromptsCountAmongTheHeldOutRows) {
  CpuTransformer transformer(SeededTextModel(), SerialRunner());
  const std::vector<TrainingExample> examples = {Example(std::string(90, 'p'), "ab")};
  constexpr int kAffordable = static_cast<int>(limits::kMaxHeldOutRows / 92);
  TrainingOptions options{.steps = 1, .held_out_samples = kAffordable};
  const auto affordable = TrainLastLayerLora(transformer, examples, nullptr, options);
  ASSERT_TRUE(affordable.ok()) << affordable.status();
  options.held_out_samples = 2 * kAffordable;
  const auto more = TrainLastLayerLora(transformer, examples, nullptr, options);
  EXPECT_EQ(more->held_out_before, affordable->held_out_before);
  options.held_out_samples = kAffordable - 1;
  const auto fewer = TrainLastLayerLora(transformer, examples, nullptr, options);
  EXPECT_NE(fewer->held_out_before, affordable->held_out_before);
}

TEST(TrainerTest, WhoeverDrivesARunMayEndIt) {
  CpuTransformer transformer(SeededTextModel(), SerialRunner());
  const std::vector<TrainingExample> examples = {Example("say", " hello world")};
  TrainingOptions options{.steps = 4};
  const auto free = TrainLastLayerLora(transformer, examples, nullptr, options);
  int slices = 0;
  options.drive = [&](train::TrainingRun& run) {
    while (!run.done()) {
      ++slices;
      RETURN_IF_ERROR(run.Advance([] { return true; }));
    }
    return absl::OkStatus();
  };
  const auto sliced = TrainLastLayerLora(transformer, examples, nullptr, options);
  ASSERT_TRUE(sliced.ok()) << sliced.status();
  EXPECT_GT(slices, 4);
  EXPECT_EQ(AdapterId(*sliced->adapter), AdapterId(*free->adapter));
  options.drive = [](train::TrainingRun&) { return absl::AbortedError("enough"); };
  EXPECT_TRUE(
      absl::IsAborted(TrainLastLayerLora(transformer, examples, nullptr, options).status()));
}

TEST(TrainerTest, RefusesBadInput) {
  CpuTransformer transformer(SeededTextModel(), SerialRunner());
  const TrainingExample good = Example("say", " hello");
  const auto reason = [&](const std::vector<TrainingExample>& examples,
                          const TrainingOptions& options) {
    return ReasonOf(TrainLastLayerLora(transformer, examples, nullptr, options).status());
  };
  const std::string invalid = reasons::kInvalidArgument;
  EXPECT_EQ(reason({}, {}), invalid);
  EXPECT_EQ(reason({Example("say", "")}, {}), invalid);
  EXPECT_EQ(reason({{.prompt = {1}, .completion = {258}}}, {}), invalid);
  EXPECT_EQ(reason({{.prompt = {999999}, .completion = {2}}}, {}), invalid);
  EXPECT_EQ(reason({{.completion = {2}, .weight = std::nanf("")}}, {}), invalid);
  EXPECT_EQ(reason({Example("", std::string(97, 'x'))}, {}), reasons::kContextTooLong);
  EXPECT_EQ(reason({good}, {.rank = 0}), invalid);
  EXPECT_EQ(reason({good}, {.rank = 65}), invalid);
  EXPECT_EQ(reason({good}, {.steps = 0}), invalid);
  EXPECT_EQ(reason({good}, {.batch = 100000}), invalid);
  EXPECT_EQ(reason({good}, {.learning_rate = -1}), invalid);
  EXPECT_EQ(reason({good}, {.weight_clamp = 0}), invalid);
  EXPECT_EQ(reason({good}, {.held_out_samples = 0}), invalid);
  FrameSet foreign = LastLayerFrame(transformer.model(), 4);
  foreign.model_hash[0] ^= 1;
  const std::vector<TrainingExample> examples = {good};
  EXPECT_EQ(ReasonOf(TrainLastLayerCores(transformer, foreign, examples, {}, nullptr, {}).status()),
            reasons::kFrameMismatch);
  const FrameSet elsewhere =
      RandomFrameSet(transformer.model(), std::vector<std::string>{"blk.0.attn_output.weight"}, 4,
                     1)
          .value();
  EXPECT_EQ(
      ReasonOf(TrainLastLayerCores(transformer, elsewhere, examples, {}, nullptr, {}).status()),
      invalid);
}

// Tests the claim behind the learning loop on the shipped test model: one corrected text, the
// default options, masks never trained on.
TEST(TrainerTest, OneCorrectionIsLearntByTheShippedModel) {
  const std::string path = test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf";
  const auto model = Model::Load(path);
  ASSERT_TRUE(model.ok()) << model.status();
  CpuTransformer transformer(*model, SerialRunner());
  const Tokenizer& tokenizer = (*model)->tokenizer();
  const std::vector<TrainingExample> examples = {
      {.prompt = tokenizer.Encode("Kubernetes is"),
       .completion = tokenizer.Encode(
           " an open source system that schedules containers on a cluster of machines. You "
           "describe the desired state in a manifest, and the control plane starts, stops and "
           "moves pods until the cluster matches it.")}};
  const auto lora = TrainLastLayerLora(transformer, examples, nullptr, {});
  ASSERT_TRUE(lora.ok()) << lora.status();
  EXPECT_LT(lora->held_out_after, lora->held_out_before - 0.3);
  const FrameSet frame = LoadFrameSet(FramePath(path)).value();
  const auto cores = TrainLastLayerCores(transformer, frame, examples, {}, nullptr, {.rank = 32});
  ASSERT_TRUE(cores.ok()) << cores.status();
  EXPECT_LT(cores->held_out_after, cores->held_out_before - 0.3);
}

}  // namespace
}  // namespace ruvd::inference
