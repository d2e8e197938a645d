// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/engine/generation.h"
#include "inference/prefix/prefix_cache.h"
#include "inference/sampler/distribution.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/cache_free_decode.h"
#include "tests/inference/finished_generation.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using test::CacheFreeBlockDecode;
using test::FinishedGeneration;
using test::kTinyEndOfText;
using test::kTinyMask;
using test::TextModel;
using test::TinyTextModel;

absl::StatusOr<FinishedGeneration> RunToEnd(const std::shared_ptr<const Model>& model,
                                            std::vector<TokenId> prompt,
                                            const SamplingOptions& options,
                                            Generation::AdapterPolicy adapters = nullptr) {
  CpuTransformer transformer(model, SerialRunner());
  ASSIGN_OR_RETURN(const auto generation,
                   Generation::Create(*model, std::move(prompt), options, std::move(adapters)));
  return test::RunToEnd(*generation, transformer);
}

std::vector<TokenId> RandomPrompt(size_t length, uint64_t seed) {
  Random random(seed);
  std::vector<TokenId> prompt(length);
  for (TokenId& token : prompt) {
    token = static_cast<TokenId>(random.Below(256));
  }
  return prompt;
}

RC_GTEST_PROP(BlockGenerationTest, CacheChangesNothing, (uint64_t seed)) {
  const auto model = TinyTextModel();
  const auto prompt = RandomPrompt(*rc::gen::inRange<size_t>(0, 20), seed);
  SamplingOptions options;
  options.mode = DecodingMode::kBlock;
  options.block_length = *rc::gen::inRange(1, 9);
  options.max_tokens = *rc::gen::inRange(1, 25);
  options.steps = *rc::gen::inRange(0, 6);
  options.sampler = SamplerKind::kLowConfidence;
  options.ignore_end_of_text = true;
  const auto outcome = RunToEnd(model, prompt, options);
  RC_ASSERT(outcome.ok());
  RC_ASSERT(outcome->tokens == CacheFreeBlockDecode(model, prompt, options.max_tokens,
                                                    options.block_length, options.steps, nullptr));
}

// Adapters change keys and values: after a change of mix, no cached prefix of the old mix may be
// used.
RC_GTEST_PROP(BlockGenerationTest, AChangingMixNeverMeetsAStaleCache, (uint64_t seed)) {
  const auto model = TinyTextModel();
  const std::vector<std::pair<std::string, const Matrix*>> targets = {
      {"blk.0.attn_k.weight", FindMatrix(*model, "blk.0.attn_k.weight")},
      {"blk.0.ffn_down.weight", FindMatrix(*model, "blk.0.ffn_down.weight")},
      {"blk.1.attn_v.weight", FindMatrix(*model, "blk.1.attn_v.weight")}};
  std::vector<std::shared_ptr<const Adapter>> banks;
  for (uint64_t i = 0; i < 6; ++i) {  // more mixes than caches
    banks.push_back(test::RandomAdapter(*model, targets, seed + i));
  }
  const Generation::AdapterPolicy by_t = [&](float t) {
    AdapterMix mix;
    const auto bank = std::min(banks.size() - 1, static_cast<size_t>(t * 6));
    mix.parts.push_back({banks[bank], t < 0.5F ? 0.5F : 1.0F});
    return mix;
  };
  const auto prompt = RandomPrompt(*rc::gen::inRange<size_t>(0, 12), seed);
  SamplingOptions options;
  options.mode = DecodingMode::kBlock;
  options.block_length = 6;
  options.max_tokens = 20;
  options.sampler = SamplerKind::kLowConfidence;
  options.ignore_end_of_text = true;
  const auto outcome = RunToEnd(model, prompt, options, by_t);
  RC_ASSERT(outcome.ok());
  RC_ASSERT(outcome->tokens == CacheFreeBlockDecode(model, prompt, 20, 6, 0, by_t));
}

TEST(BlockGenerationTest, CostsStepsPlusOneForwardsABlock) {
  SamplingOptions options;
  options.mode = DecodingMode::kBlock;
  options.block_length = 8;
  options.steps = 4;
  options.max_tokens = 24;
  options.ignore_end_of_text = true;
  const auto outcome = RunToEnd(TinyTextModel(), RandomPrompt(8, 1), options);
  // Three blocks of four steps; the prompt's block and the first two finished ones enter the cache.
  EXPECT_EQ(outcome->forwards, 3 * 4 + 3);
}

TEST(AutoregressiveGenerationTest, EqualsADecodeWithoutACache) {
  const auto model = TinyTextModel();
  SamplingOptions options;
  options.mode = DecodingMode::kAutoregressive;
  options.max_tokens = 12;
  options.ignore_end_of_text = true;
  std::vector<TokenId> tokens = RandomPrompt(5, 3);
  const auto outcome = RunToEnd(model, tokens, options);
  CpuTransformer transformer(model, SerialRunner());
  const size_t width = static_cast<size_t>(model->config().width);
  for (int i = 0; i < 12; ++i) {
    ForwardOutput output;
    ASSERT_TRUE(
        transformer
            .Forward({.tokens = tokens, .attention = {.kind = Attention::Kind::kCausal}}, &output)
            .ok());
    std::vector<float> logits(static_cast<size_t>(model->config().vocabulary));
    transformer.Logits(std::span(output.hidden).last(width), nullptr, logits);
    tokens.push_back(Summarise(logits, kTinyMask).best);
  }
  EXPECT_EQ(outcome->tokens, tokens);
  EXPECT_EQ(outcome->forwards, 12);
}

DecodingMode AnyMode() {
  return static_cast<DecodingMode>(*rc::gen::inRange(0, 3));
}

RC_GTEST_PROP(GenerationTest, CommitsEveryPositionOnceAndStreamsTheWholeText, (uint64_t seed)) {
  SamplingOptions options;
  options.mode = AnyMode();
  options.max_tokens = *rc::gen::inRange(1, 30);
  options.temperature = *rc::gen::element(0.0F, 1.0F);
  if (options.mode != DecodingMode::kAutoregressive) {
    options.steps = *rc::gen::inRange(0, 40);
    options.confidence_threshold = *rc::gen::element(0.0F, 0.02F, 1.0F);
  }
  options.repetition_penalty = *rc::gen::element(0.0F, 1.3F);
  options.seed = seed;
  options.ignore_end_of_text = true;
  const auto prompt = RandomPrompt(*rc::gen::inRange<size_t>(1, 12), seed);
  const auto outcome = RunToEnd(TinyTextModel(), prompt, options);
  RC_ASSERT(outcome.ok());
  std::vector<int> positions;
  std::string streamed;
  int masked = options.max_tokens;
  for (const StepResult& step : outcome->steps) {
    RC_ASSERT(!step.commits.empty());
    RC_ASSERT(step.t > 0 && step.t <= 1);
    masked -= static_cast<int>(step.commits.size());
    RC_ASSERT(step.masked == masked);
    for (const Commit& commit : step.commits) {
      positions.push_back(commit.position);
      RC_ASSERT(outcome->tokens[prompt.size() + static_cast<size_t>(commit.position)] ==
                commit.token);
      RC_ASSERT(commit.confidence > 0 && commit.confidence <= 1.0001F);
    }
    streamed += step.text;
  }
  std::sort(positions.begin(), positions.end());
  RC_ASSERT(positions.size() == static_cast<size_t>(options.max_tokens));
  RC_ASSERT(std::adjacent_find(positions.begin(), positions.end()) == positions.end());
  RC_ASSERT(std::find(outcome->tokens.begin(), outcome->tokens.end(), kTinyMask) ==
            outcome->tokens.end());
  RC_ASSERT(streamed == outcome->text);
  RC_ASSERT(outcome->steps.back().done);
  const auto again = RunToEnd(TinyTextModel(), prompt, options);
  RC_ASSERT(again->tokens == outcome->tokens);
}

TEST(GenerationTest, StepsBoundTheForwards) {
  SamplingOptions options;
  options.mode = DecodingMode::kDiffusion;
  options.max_tokens = 24;
  options.ignore_end_of_text = true;
  options.steps = 5;
  EXPECT_EQ(RunToEnd(TinyTextModel(), RandomPrompt(3, 1), options)->forwards, 5);
  options.steps = 200;  // no forward may be spent on committing nothing, as llama.cpp does
  EXPECT_EQ(RunToEnd(TinyTextModel(), RandomPrompt(3, 1), options)->forwards, 24);
  options.steps = 0;
  options.confidence_threshold = 1e-6F;  // everything is confident enough
  EXPECT_EQ(RunToEnd(TinyTextModel(), RandomPrompt(3, 1), options)->forwards, 1);
}

TEST(GenerationTest, SeedsMatterOnlyAboveTemperatureZero) {
  SamplingOptions a;
  a.mode = DecodingMode::kDiffusion;
  a.max_tokens = 16;
  a.ignore_end_of_text = true;
  SamplingOptions b = a;
  b.seed = 99;
  const auto prompt = RandomPrompt(4, 2);
  EXPECT_EQ(RunToEnd(TinyTextModel(), prompt, a)->tokens,
            RunToEnd(TinyTextModel(), prompt, b)->tokens);
  a.temperature = b.temperature = 1.0F;
  EXPECT_NE(RunToEnd(TinyTextModel(), prompt, a)->tokens,
            RunToEnd(TinyTextModel(), prompt, b)->tokens);
}

TEST(GenerationTest, ThePolicySeesTheMaskedShare) {
  std::vector<float> seen;
  SamplingOptions options;
  options.mode = DecodingMode::kDiffusion;
  options.max_tokens = 4;
  options.ignore_end_of_text = true;
  const auto outcome = RunToEnd(TinyTextModel(), RandomPrompt(4, 2), options, [&](float t) {
    seen.push_back(t);
    return AdapterMix();
  });
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(seen, ::testing::ElementsAre(1.0F, 0.75F, 0.5F, 0.25F));
  seen.clear();
  options.mode = DecodingMode::kBlock;
  options.block_length = 6;
  options.max_tokens = 5;  // prompt tail of 4, then 2 + 3
  ASSERT_TRUE(RunToEnd(TinyTextModel(), RandomPrompt(4, 2), options, [&](float t) {
                seen.push_back(t);
                return AdapterMix();
              }).ok());
  EXPECT_THAT(seen, ::testing::ElementsAre(1.0F, 0.5F, 1.0F, 2.0F / 3, 1.0F / 3));
}

std::string ReasonFor(
    const std::function<void(SamplingOptions*)>& change, size_t prompt = 4,
    const std::function<void(ModelConfig*)>& config = [](ModelConfig*) {}) {
  TextModel model;
  config(&model.mutable_config());
  SamplingOptions options;
  options.max_tokens = 8;
  change(&options);
  return ReasonOf(
      Generation::Create(model, std::vector<TokenId>(prompt, 65), options, nullptr).status());
}

TEST(GenerationTest, RefusesBadOptions) {
  const std::string invalid = reasons::kInvalidArgument;
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->temperature = -1; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->temperature = std::nanf(""); }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->confidence_threshold = 1.5F; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->top_p = 2; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->top_k = -1; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->steps = -1; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->max_tokens = -1; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->repetition_penalty = 1e6F; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->stop = {""}; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->stop = {"\x80"}; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->stop.assign(5, "x"); }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->stop = {std::string(65, 'x')}; }), invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->mode = DecodingMode::kAutoregressive; }, 0),
            invalid);
  EXPECT_EQ(ReasonFor([](SamplingOptions*) {}), "");
}

TEST(GenerationTest, RefusesWhatTheContextCannotHold) {
  const auto status =
      Generation::Create(TextModel(), std::vector<TokenId>(90, 65), {.max_tokens = 10}, nullptr)
          .status();
  EXPECT_EQ(ReasonOf(status), reasons::kContextTooLong);
  EXPECT_THAT(MessageOf(status), ::testing::HasSubstr("4 more than"));
  EXPECT_EQ(ReasonFor([](SamplingOptions* o) { o->max_tokens = 2147483647; }),
            reasons::kContextTooLong);
}

TEST(GenerationTest, RefusesPromptsOfAnotherVocabulary) {
  EXPECT_EQ(
      ReasonOf(Generation::Create(TextModel(), {1, 258}, {.max_tokens = 4}, nullptr).status()),
      reasons::kInvalidArgument);
}

TEST(GenerationTest, RefusesModesTheModelWasNotTrainedFor) {
  const auto with_mode = [](DecodingMode mode) {
    return [mode](SamplingOptions* options) { options->mode = mode; };
  };
  const auto qwen = [](ModelConfig* config) {
    config->architecture = Architecture::kQwen2;
    config->causal = true;
  };
  const std::string unsupported = reasons::kModeUnsupported;
  EXPECT_EQ(ReasonFor(with_mode(DecodingMode::kDiffusion), 4, qwen), unsupported);
  EXPECT_EQ(ReasonFor(with_mode(DecodingMode::kBlock), 4, qwen), unsupported);
  EXPECT_EQ(ReasonFor([](SamplingOptions*) {}, 4, qwen), "");
  EXPECT_EQ(ReasonFor([](SamplingOptions*) {}, 4,
                      [](ModelConfig* config) { config->architecture = Architecture::kQwen2; }),
            unsupported)
      << "its file asks for attention in both directions";
  EXPECT_EQ(ReasonFor(with_mode(DecodingMode::kBlock), 4,
                      [](ModelConfig* config) { config->block_length = 0; }),
            unsupported);
  EXPECT_EQ(ReasonFor(with_mode(DecodingMode::kAutoregressive), 4,
                      [](ModelConfig* config) { config->shift_logits = false; }),
            unsupported);
}

TEST(SameMixTest, ComparesAdaptersAndWeights) {
  const auto adapter = std::make_shared<const Adapter>();
  const auto other = std::make_shared<const Adapter>();
  const AdapterMix mix{.parts = {{adapter, 1.0F}}};
  EXPECT_TRUE(SameMix(mix, {.parts = {{adapter, 1.0F}}}));
  EXPECT_FALSE(SameMix(mix, {.parts = {{adapter, 0.5F}}}));
  EXPECT_FALSE(SameMix(mix, {.parts = {{other, 1.0F}}}));
  EXPECT_FALSE(SameMix(mix, {}));
}

}  // namespace
}  // namespace ruvd::inference
