// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What a completion guarantees for every sampler: where it ends, what is counted, and what never
// occurs twice.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/engine/generation.h"
#include "inference/limits.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using test::kTinyEndOfText;
using test::TinyTextModel;

std::unique_ptr<Generation> Finish(absl::StatusOr<std::unique_ptr<Generation>> generation) {
  RUVD_CHECK(generation.ok());
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  while (!(*generation)->done()) {
    RUVD_CHECK((*generation)->Step(transformer).ok());
  }
  return *std::move(generation);
}

// Found by review: tokens that a step commits together repeated each other.
RC_GTEST_PROP(NgramTest, NoneOccursTwiceThoughSeveralAreCommittedAStep, (uint64_t seed)) {
  SamplingOptions options;
  options.mode = *rc::gen::element(DecodingMode::kDiffusion, DecodingMode::kBlock);
  options.max_tokens = *rc::gen::inRange(4, 60);
  options.steps = *rc::gen::inRange(1, 6);
  options.sampler = static_cast<SamplerKind>(*rc::gen::inRange(0, 11));
  options.no_repeat_ngram = *rc::gen::inRange(1, 4);
  options.temperature = *rc::gen::element(0.0F, 1.0F);
  options.ignore_end_of_text = true;
  options.seed = seed;
  const auto generation = Finish(Generation::Create(*TinyTextModel(), {65, 66}, options, nullptr));
  const std::vector<TokenId>& tokens = generation->tokens();
  const auto n = static_cast<size_t>(options.no_repeat_ngram);
  std::set<std::vector<TokenId>> seen;
  for (size_t i = 0; i + n <= tokens.size(); ++i) {
    RC_ASSERT(seen.emplace(tokens.begin() + static_cast<ptrdiff_t>(i),
                           tokens.begin() + static_cast<ptrdiff_t>(i + n))
                  .second);
  }
  RC_ASSERT(generation->steps() >= 1);
}

// Found by review: the whole window was counted, even what came after the end of the text.
TEST(CompletionTokensTest, AreThoseUpToTheEndOfText) {
  int ended = 0;
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const auto generation = Finish(Generation::Create(
          *TinyTextModel(), {65, 66},
          {.mode = mode, .max_tokens = 60, .seed = seed, .temperature = 3}, nullptr));
      EXPECT_EQ(generation->window(), 60);
      const auto begin = generation->tokens().begin() + generation->prompt_length();
      const auto end = std::find(begin, generation->tokens().end(), kTinyEndOfText);
      if (generation->finish_reason() == FinishReason::kEndOfText) {
        EXPECT_EQ(generation->completion_tokens(), end - begin + 1);
        ++ended;
      } else {
        EXPECT_EQ(generation->completion_tokens(), 60);
      }
    }
  }
  EXPECT_GT(ended, 5);
}

TEST(CompletionTokensTest, AreThoseUpToAStopString) {
  const SamplingOptions options{
      .mode = DecodingMode::kDiffusion, .max_tokens = 30, .ignore_end_of_text = true};
  const auto whole = Finish(Generation::Create(*TinyTextModel(), {65, 66}, options, nullptr));
  const std::vector<TokenId>& tokens = whole->tokens();
  const auto ascii = std::find_if(tokens.begin() + 6, tokens.end(),
                                  [](TokenId token) { return token > 32 && token < 127; });
  ASSERT_NE(ascii, tokens.end());
  const auto first = std::find(tokens.begin() + 2, tokens.end(), *ascii);
  SamplingOptions stopping = options;
  stopping.stop = {std::string(1, static_cast<char>(*ascii))};
  const auto stopped = Finish(Generation::Create(*TinyTextModel(), {65, 66}, stopping, nullptr));
  EXPECT_EQ(stopped->finish_reason(), FinishReason::kStop);
  EXPECT_EQ(stopped->completion_tokens(), first - tokens.begin() - 2 + 1);
}

TEST(StepsTest, MoreThanTheLimitAreRefused) {
  SamplingOptions options{.mode = DecodingMode::kDiffusion, .max_tokens = 4};
  options.steps = limits::kMaxSteps + 1;
  EXPECT_EQ(ReasonOf(Generation::Create(*TinyTextModel(), {65}, options, nullptr).status()),
            reasons::kInvalidArgument);
  options.steps = limits::kMaxSteps;
  options.sampler = SamplerKind::kAncestral;
  EXPECT_LE(Finish(Generation::Create(*TinyTextModel(), {65}, options, nullptr))->forwards(), 4);
}

// Found by review: the inverse of such a temperature is infinite in float32.
TEST(TemperatureTest, ThoseTooSmallForFloatsAreRefused) {
  const auto reason = [](const SamplingOptions& options) {
    return ReasonOf(Generation::Create(*TinyTextModel(), {65}, options, nullptr).status());
  };
  EXPECT_EQ(reason({.temperature = 1e-40F}), reasons::kInvalidArgument);
  EXPECT_EQ(reason({.sampler = SamplerKind::kMargin, .position_temperature = 1e-5F}),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason({.temperature = limits::kMinTemperature}), "");
}

}  // namespace
}  // namespace ruvd::inference
