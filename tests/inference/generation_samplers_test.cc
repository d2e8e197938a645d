// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/engine/generation.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/finished_generation.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using test::FinishedGeneration;
using test::kTinyEndOfText;
using test::kTinyMask;
using test::TinyTextModel;
using ::testing::HasSubstr;

FinishedGeneration FinishGeneration(absl::StatusOr<std::unique_ptr<Generation>> generation) {
  RUVD_CHECK(generation.ok());
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  return test::RunToEnd(**generation, transformer).value();
}

FinishedGeneration Infilled(std::vector<TokenId> canvas, const SamplingOptions& options) {
  return FinishGeneration(
      Generation::CreateInfill(*TinyTextModel(), std::move(canvas), options, nullptr));
}

// Returns given tokens with gaps between them.
std::vector<TokenId> RandomCanvas(uint64_t seed, size_t length) {
  Random random(seed);
  std::vector<TokenId> canvas(length);
  bool open = random.Bernoulli(0.5);
  for (TokenId& token : canvas) {
    open = random.Bernoulli(0.2) ? !open : open;
    token = open ? kNoToken : static_cast<TokenId>(random.Below(256));
  }
  canvas[random.Below(length)] = kNoToken;
  return canvas;
}

std::vector<float> LogitsAt(Transformer& transformer, std::span<const TokenId> tokens,
                            const Attention& attention, size_t row) {
  ForwardOutput output;
  RUVD_CHECK(transformer.Forward({.tokens = tokens, .attention = attention}, &output).ok());
  const auto width = static_cast<size_t>(transformer.model().config().width);
  std::vector<float> logits(static_cast<size_t>(transformer.model().config().vocabulary));
  transformer.Logits(std::span(output.hidden).subspan(row * width, width), nullptr, logits);
  return logits;
}

// Defines greedy low-confidence decoding of a canvas, one token a step, without caches, batches or
// skipped rows: scope by scope, every token evaluates the whole text before the scope's end.
std::vector<TokenId> PlainDecode(std::vector<TokenId> tokens, size_t block, float guidance) {
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const size_t scope = block > 0 ? block : tokens.size();
  const Attention attention = block > 0 ? Attention{.kind = Attention::Kind::kBlockCausal,
                                                    .block_length = static_cast<int>(block)}
                                        : Attention{.kind = Attention::Kind::kBidirectional};
  std::vector<bool> open;
  for (TokenId& token : tokens) {
    open.push_back(token == kNoToken);
    token = token == kNoToken ? kTinyMask : token;
  }
  const auto given = std::find(open.rbegin(), open.rend(), false);
  const auto given_end = static_cast<size_t>(open.rend() - given);
  for (size_t begin = 0; begin < tokens.size(); begin += scope) {
    const size_t end = std::min(begin + scope, tokens.size());
    while (true) {
      std::vector<TokenId> blind = tokens;
      for (size_t i = 0; i < tokens.size(); ++i) {
        blind[i] = open[i] ? tokens[i] : kTinyMask;
      }
      float best = -1;
      size_t position = 0;
      TokenId token = 0;
      for (size_t i = begin; i < end; ++i) {
        if (tokens[i] != kTinyMask) {
          continue;
        }
        const size_t row = i == 0 ? 0 : i - 1;
        std::vector<float> logits =
            LogitsAt(transformer, std::span(tokens).first(end), attention, row);
        if (guidance > 0) {
          const std::vector<float> other =
              LogitsAt(transformer, std::span(blind).first(end), attention, row);
          for (size_t v = 0; v < logits.size(); ++v) {
            logits[v] = other[v] + (guidance + 1) * (logits[v] - other[v]);
          }
        }
        if (i < given_end) {
          logits[kTinyEndOfText] = kForbidden;
        }
        const RowSummary summary = Summarise(logits, kTinyMask);
        if (summary.Probability(logits[summary.best]) > best) {
          best = summary.Probability(logits[summary.best]);
          position = i;
          token = summary.best;
        }
      }
      if (best < 0) {
        break;
      }
      tokens[position] = token;
    }
  }
  return tokens;
}

RC_GTEST_PROP(InfillTest, GapsAnywhereEqualAPlainDecode, (uint64_t seed)) {
  const std::vector<TokenId> canvas = RandomCanvas(seed, *rc::gen::inRange<size_t>(1, 20));
  const bool block = *rc::gen::arbitrary<bool>();
  SamplingOptions options;
  options.mode = block ? DecodingMode::kBlock : DecodingMode::kDiffusion;
  options.block_length = block ? 5 : 0;
  options.sampler = SamplerKind::kLowConfidence;
  options.guidance_scale = *rc::gen::element(0.0F, 0.8F);
  const FinishedGeneration outcome = Infilled(canvas, options);
  // Nothing after an end-of-text token is decoded, so only what is before it is compared.
  const std::vector<TokenId> plain = PlainDecode(canvas, block ? 5 : 0, options.guidance_scale);
  const auto end = std::find(outcome.tokens.begin(), outcome.tokens.end(), kTinyEndOfText);
  RC_ASSERT(std::equal(outcome.tokens.begin(), end, plain.begin()));
  for (size_t i = 0; i < canvas.size(); ++i) {
    RC_ASSERT(canvas[i] == kNoToken || outcome.tokens[i] == canvas[i]);
  }
}

TEST(InfillTest, TheCompletionIsTheTextFromTheFirstGapToTheLast) {
  const auto& tokenizer = TinyTextModel()->tokenizer();
  std::vector<TokenId> canvas = tokenizer.Encode("ab");
  canvas.resize(5, kNoToken);
  for (const TokenId token : tokenizer.Encode("XY")) {
    canvas.push_back(token);
  }
  canvas.resize(9, kNoToken);
  canvas.push_back(tokenizer.Encode("z").front());
  const FinishedGeneration outcome = Infilled(canvas, {});
  EXPECT_EQ(outcome.prompt_length, 2);
  std::string streamed;
  for (const StepResult& step : outcome.steps) {
    streamed += step.text;
  }
  EXPECT_EQ(streamed, outcome.text);
  EXPECT_THAT(outcome.text, HasSubstr("XY"));
  EXPECT_THAT(outcome.text, ::testing::Not(HasSubstr("z")));
}

// Only blocks with gaps are denoised; the others enter the cache.
TEST(InfillTest, ABlockOfGivenTokensIsNotDenoised) {
  std::vector<TokenId> canvas(24, 65);
  canvas[1] = kNoToken;
  canvas[22] = kNoToken;
  const FinishedGeneration outcome =
      Infilled(canvas, {.mode = DecodingMode::kBlock, .block_length = 4});
  // The first gap, a prefix of 20 tokens in one piece, the second gap.
  EXPECT_EQ(outcome.forwards, 3);
}

TEST(InfillTest, RefusesWhatHasNoGapOrCannotLookAhead) {
  const auto reason = [](std::vector<TokenId> canvas, const SamplingOptions& options) {
    return ReasonOf(
        Generation::CreateInfill(*TinyTextModel(), std::move(canvas), options, nullptr).status());
  };
  EXPECT_EQ(reason({1, 2}, {}), reasons::kInvalidArgument);
  EXPECT_EQ(reason(std::vector<TokenId>(97, kNoToken), {}), reasons::kContextTooLong);
  EXPECT_EQ(reason({1, kNoToken, 2}, {.mode = DecodingMode::kAutoregressive}),
            reasons::kModeUnsupported);
}

// Text that was streamed must stay, whatever is masked again after it.
RC_GTEST_PROP(RemdmTest, StreamedTextIsNeverTakenBack, (uint64_t seed)) {
  SamplingOptions options;
  options.mode = *rc::gen::element(DecodingMode::kDiffusion, DecodingMode::kBlock);
  options.max_tokens = *rc::gen::inRange(1, 24);
  options.sampler = SamplerKind::kRemdm;
  options.remask = static_cast<RemaskKind>(*rc::gen::inRange(0, 3));
  if (options.remask != RemaskKind::kConfidence) {
    options.remask_strength = 0.5F;
  }
  options.temperature = 1.0F;
  options.steps = *rc::gen::inRange(0, 16);
  options.seed = seed;
  const FinishedGeneration outcome =
      FinishGeneration(Generation::Create(*TinyTextModel(), {65, 66, 67}, options, nullptr));
  std::string streamed;
  std::vector<int> state(static_cast<size_t>(options.max_tokens), -1);
  for (const StepResult& step : outcome.steps) {
    streamed += step.text;
    for (const Commit& commit : step.commits) {
      state[static_cast<size_t>(commit.position)] = static_cast<int>(commit.token);
    }
    for (const int position : step.remasked) {
      RC_ASSERT(state[static_cast<size_t>(position)] != -1);
      state[static_cast<size_t>(position)] = -1;
    }
  }
  RC_ASSERT(streamed == outcome.text);
  for (size_t i = 0; i < state.size(); ++i) {
    const TokenId token = outcome.tokens[3 + i];
    const bool masked = state[i] == -1;
    RC_ASSERT(token == (masked ? kTinyMask : static_cast<TokenId>(state[i])));
  }
}

TEST(AncestralTest, IdleStepsCostNoForward) {
  const SamplingOptions options = {.mode = DecodingMode::kDiffusion,
                                   .max_tokens = 4,
                                   .ignore_end_of_text = true,
                                   .temperature = 1.0F,
                                   .sampler = SamplerKind::kAncestral,
                                   .steps = 200};
  const FinishedGeneration outcome =
      FinishGeneration(Generation::Create(*TinyTextModel(), {65}, options, nullptr));
  EXPECT_LE(outcome.forwards, 4);
  EXPECT_EQ(outcome.steps.size(), static_cast<size_t>(outcome.forwards));
}

// The study chose this default: left to right only where the request asks for nothing else.
TEST(DefaultSamplerTest, WritesBlocksFromLeftToRightAtOneTokenAStep) {
  const std::vector<TokenId> canvas(24, kNoToken);
  SamplingOptions options;
  options.mode = DecodingMode::kBlock;
  options.block_length = 8;
  options.ignore_end_of_text = true;
  SamplingOptions position = options;
  position.sampler = SamplerKind::kPosition;
  EXPECT_EQ(Infilled(canvas, options).tokens, Infilled(canvas, position).tokens);
  for (const int steps : {0, 2}) {
    options.steps = steps;
    options.mode = steps == 0 ? DecodingMode::kDiffusion : DecodingMode::kBlock;
    options.block_length = steps == 0 ? 0 : 8;
    SamplingOptions surest = options;
    surest.sampler = SamplerKind::kLowConfidence;
    EXPECT_EQ(Infilled(canvas, options).tokens, Infilled(canvas, surest).tokens);
  }
  SamplingOptions drawn = options;
  drawn.steps = 0;
  drawn.position_temperature = 0.5F;  // only rankings read it, so it must not be refused
  EXPECT_GT(Infilled(canvas, drawn).forwards, 0);
}

TEST(LogprobsTest, ComeWithEveryCommit) {
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const FinishedGeneration outcome = FinishGeneration(Generation::Create(
        *TinyTextModel(), {65, 66}, {.mode = mode, .max_tokens = 6, .logprobs = 3}, nullptr));
    for (const StepResult& step : outcome.steps) {
      for (const Commit& commit : step.commits) {
        ASSERT_EQ(commit.likeliest.size(), 3U);
        EXPECT_EQ(commit.likeliest[0].token, commit.token);  // greedy
        EXPECT_EQ(commit.likeliest[0].logprob, commit.logprob);
        EXPECT_NEAR(std::exp(commit.logprob), commit.confidence, 1e-5);
      }
    }
  }
}

// llama.cpp parses options that it then ignores: here every option must act or be refused.
TEST(PeerDefectTest, ContradictingOptionsAreRefusedByName) {
  struct Case {
    std::string names;
    SamplingOptions options;
  };
  const auto ar = DecodingMode::kAutoregressive;
  const std::vector<Case> cases = {
      {"steps", {.mode = ar, .steps = 4}},
      {"sampler", {.mode = ar, .sampler = SamplerKind::kRandom}},
      {"guidance_scale", {.mode = ar, .guidance_scale = 1}},
      {"confidence_threshold", {.mode = ar, .confidence_threshold = 0.5F}},
      {"block_length", {.mode = ar, .block_length = 4}},
      {"block_length", {.mode = DecodingMode::kDiffusion, .block_length = 4}},
      {"top_k", {.top_k = 4}},
      {"top_p", {.top_p = 0.5F}},
      {"min_p", {.min_p = 0.5F}},
      {"penalty_window", {.penalty_window = 8}},
      {"entropy_bound", {.sampler = SamplerKind::kKlass, .entropy_bound = 1}},
      {"factor", {.factor = 1}},
      {"stability_kl", {.sampler = SamplerKind::kThreshold, .stability_kl = 1}},
      {"stability_steps", {.stability_steps = 1}},
      {"remask", {.sampler = SamplerKind::kAncestral, .remask = RemaskKind::kCap}},
      {"remask_strength", {.remask_strength = 0.5F}},
      {"position_temperature", {.sampler = SamplerKind::kThreshold, .position_temperature = 0.5F}},
      {"confidence_threshold", {.sampler = SamplerKind::kEntropy, .confidence_threshold = 0.5F}},
  };
  for (const Case& c : cases) {
    const absl::Status status =
        Generation::Create(*TinyTextModel(), {65}, c.options, nullptr).status();
    EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument) << c.names;
    EXPECT_THAT(MessageOf(status), HasSubstr(c.names));
  }
}

// llama.cpp ignores these as well: guidance and position temperature must change what is decoded.
TEST(PeerDefectTest, GuidanceAndPositionTemperatureAct) {
  SamplingOptions options = {.mode = DecodingMode::kDiffusion, .max_tokens = 16};
  options.ignore_end_of_text = true;
  const auto run = [&](const SamplingOptions& o) {
    return FinishGeneration(Generation::Create(*TinyTextModel(), {65, 70, 80}, o, nullptr));
  };
  const FinishedGeneration plain = run(options);
  SamplingOptions guided = options;
  guided.guidance_scale = 2;
  EXPECT_NE(run(guided).tokens, plain.tokens);
  EXPECT_EQ(run(guided).forwards, 2 * plain.forwards);
  SamplingOptions drawn = options;
  drawn.position_temperature = 1;
  const auto order = [](const FinishedGeneration& outcome) {
    std::vector<int> positions;
    for (const StepResult& step : outcome.steps) {
      positions.push_back(step.commits.front().position);
    }
    return positions;
  };
  EXPECT_NE(order(run(drawn)), order(plain));
}

TEST(PenaltyTest, ForbiddenNgramsDoNotAppear) {
  for (const DecodingMode mode : {DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const FinishedGeneration outcome = FinishGeneration(Generation::Create(
        *TinyTextModel(), {65, 66},
        {.mode = mode, .max_tokens = 60, .ignore_end_of_text = true, .no_repeat_ngram = 2},
        nullptr));
    std::vector<std::pair<TokenId, TokenId>> pairs;
    for (size_t i = 0; i + 1 < outcome.tokens.size(); ++i) {
      pairs.emplace_back(outcome.tokens[i], outcome.tokens[i + 1]);
    }
    std::sort(pairs.begin(), pairs.end());
    EXPECT_EQ(std::adjacent_find(pairs.begin(), pairs.end()), pairs.end());
  }
}

}  // namespace
}  // namespace ruvd::inference
