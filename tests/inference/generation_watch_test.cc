// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "inference/engine/generation.h"
#include "inference/retrieval/denoising_guided.h"
#include "inference/sampler/distribution.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/finished_generation.h"
#include "tests/inference/random_adapter.h"

namespace ruvd::inference {
namespace {

using test::FinishedGeneration;
using test::TinyModel;

const std::vector<TokenId> kPrompt = {1, 2, 3, 4, 5, 6};
constexpr int kTokens = 12;
constexpr int kBlock = 4;

std::shared_ptr<TinyModel> MakeModel() {
  return std::make_shared<TinyModel>(TinyModel::Options{});
}

SamplingOptions Options(DecodingMode mode) {
  SamplingOptions options;
  options.mode = mode;
  options.max_tokens = kTokens;
  options.ignore_end_of_text = true;
  options.block_length = mode == DecodingMode::kBlock ? kBlock : 0;
  options.sampler = mode == DecodingMode::kAutoregressive
                        ? std::nullopt
                        : std::optional(SamplerKind::kLowConfidence);
  return options;
}

// A completion that takes other adapters where its uncertainty asks for it, with the mix of every
// step.
struct Guided {
  FinishedGeneration finished;
  std::vector<AdapterMix> mixes;
  int switches = 0;
};

Guided RunGuided(const std::shared_ptr<TinyModel>& model, const SamplingOptions& options,
                 const DgrOptions& dgr) {
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<std::shared_ptr<const Adapter>> adapters = {test::RandomAdapter(*model, 1),
                                                                test::RandomAdapter(*model, 2)};
  Guided guided;
  AdapterMix mix;
  auto generation = Generation::Create(*model, kPrompt, options, [&](float) {
                      guided.mixes.push_back(mix);
                      return mix;
                    }).value();
  DgrHistory history;
  generation->Watch([&](const StepSignals& signals) {
    const StepUncertainty now = UncertaintyOf(signals.positions, signals.t);
    if (DecideRetrieval(dgr, history, now, signals.step, 0).query) {
      history = {.retrievals = history.retrievals + 1, .last_step = signals.step};
      mix.parts = {{adapters[static_cast<size_t>(guided.switches++) % 2], 1.0F}};
    }
  });
  guided.finished = test::RunToEnd(*generation, transformer).value();
  return guided;
}

// Decodes by equal steps without any cache: everything up to the end of the active part is
// evaluated with the step's mix, and the most confident mask of the part is committed.
std::vector<TokenId> DecodeWithoutCache(const std::shared_ptr<TinyModel>& model, DecodingMode mode,
                                        const std::vector<AdapterMix>& mixes) {
  CpuTransformer transformer(model, SerialRunner());
  const auto width = static_cast<size_t>(model->config().width);
  std::vector<TokenId> tokens = kPrompt;
  const size_t length = kPrompt.size() + kTokens;
  if (mode != DecodingMode::kAutoregressive) {
    tokens.resize(length, TinyModel::kMask);
  }
  std::vector<float> logits(static_cast<size_t>(model->config().vocabulary));
  const bool shift = model->config().shift_logits;
  for (const AdapterMix& mix : mixes) {
    Attention attention{.kind = Attention::Kind::kCausal};
    size_t begin = tokens.size();
    size_t end = tokens.size() + 1;
    size_t seen = tokens.size();
    if (mode == DecodingMode::kBlock) {
      attention = {.kind = Attention::Kind::kBlockCausal, .block_length = kBlock};
      const auto first = std::find(tokens.begin(), tokens.end(), TinyModel::kMask);
      begin = static_cast<size_t>(first - tokens.begin()) / kBlock * kBlock;
      end = std::min(begin + kBlock, length);
      seen = end;
    }
    ForwardOutput output;
    EXPECT_TRUE(
        transformer
            .Forward(
                {.tokens = std::span(tokens).first(seen), .attention = attention, .adapters = &mix},
                &output)
            .ok());
    float most = -1;
    size_t place = 0;
    TokenId chosen = 0;
    for (size_t i = begin; i < end; ++i) {
      if (i < tokens.size() && tokens[i] != TinyModel::kMask) {
        continue;
      }
      const size_t row = shift && i > 0 ? i - 1 : i;
      transformer.Logits(std::span(output.hidden).subspan(row * width, width), &mix, logits);
      const RowSummary summary = Summarise(logits, TinyModel::kMask);
      const float confidence = summary.Probability(logits[summary.best]);
      if (confidence > most) {
        most = confidence;
        place = i;
        chosen = summary.best;
      }
    }
    tokens.resize(std::max(tokens.size(), place + 1));
    tokens[place] = chosen;
  }
  return tokens;
}

const DgrOptions kEager{.strategy = DgrStrategy::kEntropy,
                        .entropy_threshold = 0.1F,
                        .max_retrievals = 3,
                        .min_interval = 3,
                        .min_t = 0};

TEST(GenerationWatchTest, ASwitchOfAdaptersLeavesNoStaleCache) {
  for (const DecodingMode mode : {DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const auto model = MakeModel();
    model->mutable_config().shift_logits = true;
    const Guided guided = RunGuided(model, Options(mode), kEager);
    ASSERT_EQ(guided.switches, 3);
    ASSERT_EQ(guided.mixes.size(), static_cast<size_t>(kTokens));
    EXPECT_EQ(guided.finished.tokens, DecodeWithoutCache(model, mode, guided.mixes));
    // The switches matter; otherwise the comparison above would show nothing.
    const std::vector<AdapterMix> constant(kTokens);
    EXPECT_NE(guided.finished.tokens, DecodeWithoutCache(model, mode, constant));
  }
}

TEST(GenerationWatchTest, TheApproximateCacheIsRefreshedBySwitches) {
  const auto model = MakeModel();
  SamplingOptions options = Options(DecodingMode::kDiffusion);
  options.approximate_cache_steps = 100;
  options.block_length = kTokens;
  const Guided cached = RunGuided(model, options, kEager);
  ASSERT_EQ(cached.switches, 3);
  options.approximate_cache_steps = 1;  // a full forward every step
  const Guided full = RunGuided(model, options, kEager);
  // The step after a switch is a full forward, so the first difference to it does not come from the
  // cache.
  EXPECT_EQ(cached.finished.steps[0].commits[0].token, full.finished.steps[0].commits[0].token);
  EXPECT_EQ(cached.finished.steps[1].commits[0].token, full.finished.steps[1].commits[0].token);
}

TEST(GenerationWatchTest, AWatcherThatOnlyWatchesChangesNothing) {
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const auto model = MakeModel();
    model->mutable_config().shift_logits = true;
    CpuTransformer transformer(model, SerialRunner());
    auto plain = Generation::Create(*model, kPrompt, Options(mode), nullptr).value();
    auto watched = Generation::Create(*model, kPrompt, Options(mode), nullptr).value();
    std::vector<int> steps;
    watched->Watch([&](const StepSignals& signals) {
      steps.push_back(signals.step);
      EXPECT_EQ(signals.hidden.size(),
                signals.positions.size() * static_cast<size_t>(model->config().width));
      for (const PositionUncertainty& position : signals.positions) {
        EXPECT_GE(position.entropy, 0);
        EXPECT_LE(position.entropy, 1.0001F);
        EXPECT_GE(position.confidence, position.margin - 1e-6F);
      }
    });
    const FinishedGeneration a = test::RunToEnd(*plain, transformer).value();
    const FinishedGeneration b = test::RunToEnd(*watched, transformer).value();
    EXPECT_EQ(a.tokens, b.tokens);
    ASSERT_EQ(steps.size(), b.steps.size());
    EXPECT_EQ(steps.back(), b.steps.back().step);
  }
}

TEST(GenerationWatchTest, PositionsSeenBeforeHaveAMovement) {
  const auto model = MakeModel();
  CpuTransformer transformer(model, SerialRunner());
  auto generation =
      Generation::Create(*model, kPrompt, Options(DecodingMode::kDiffusion), nullptr).value();
  std::vector<int> finite;
  generation->Watch([&](const StepSignals& signals) {
    finite.push_back(
        static_cast<int>(std::count_if(signals.positions.begin(), signals.positions.end(),
                                       [](const auto& p) { return std::isfinite(p.movement); })));
  });
  ASSERT_TRUE(test::RunToEnd(*generation, transformer).ok());
  EXPECT_EQ(finite.front(), 0);
  EXPECT_EQ(finite[1], kTokens - 1);
}

}  // namespace
}  // namespace ruvd::inference
