// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests completions that share keys and values, and completions that use the approximate cache.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/engine/step_together.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using test::TinyTextModel;

std::shared_ptr<PrefixTree> SharedTree(KvFormat format, uint64_t pages) {
  const ModelConfig& config = TinyTextModel()->config();
  return std::make_shared<PrefixTree>(
      KvPool::Create(config, format, pages * KvLayout(config, format).page_bytes()).value());
}

std::vector<TokenId> Prompt(size_t length, uint64_t seed) {
  Random random(seed);
  std::vector<TokenId> prompt(length);
  for (TokenId& token : prompt) {
    token = static_cast<TokenId>(random.Below(20));
  }
  return prompt;
}

struct SharedOutcome {
  std::vector<TokenId> tokens;
  std::vector<float> confidences;
  int forwards = 0;
  size_t rows = 0;  // tokens evaluated
};

absl::StatusOr<SharedOutcome> RunShared(const std::vector<TokenId>& prompt,
                                        const SamplingOptions& options,
                                        const std::shared_ptr<PrefixTree>& tree) {
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  ASSIGN_OR_RETURN(const auto generation,
                   Generation::Create(*TinyTextModel(), prompt, options, nullptr, tree));
  Generation* const one = generation.get();
  StepScratch scratch;
  SharedOutcome outcome;
  while (!generation->done()) {
    outcome.rows += NextForwardRows(*generation);
    ASSIGN_OR_RETURN(const std::optional<StepResult> step,
                     StepTogether(std::span(&one, 1), transformer, &scratch).front());
    for (const Commit& commit : step.has_value() ? step->commits : std::vector<Commit>()) {
      outcome.confidences.push_back(commit.confidence);
    }
  }
  outcome.tokens = generation->tokens();
  outcome.forwards = generation->forwards();
  return outcome;
}

SamplingOptions Options(DecodingMode mode) {
  SamplingOptions options;
  options.mode = mode;
  options.max_tokens = 20;
  options.ignore_end_of_text = true;
  return options;
}

class PrefixSharingTest : public ::testing::TestWithParam<std::tuple<DecodingMode, KvFormat>> {};

// Whatever is found in the tree, tokens and confidences are equal to those of a computation without
// it.
TEST_P(PrefixSharingTest, SharedPrefixesChangeNothing) {
  const auto [mode, format] = GetParam();
  const SamplingOptions options = Options(mode);
  const auto tree = SharedTree(format, 1000);
  const std::vector<TokenId> common = Prompt(24, 1);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<TokenId> prompt = common;
    const std::vector<TokenId> rest = Prompt(seed * 3 % 11, seed);
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    const SharedOutcome cold = RunShared(prompt, options, SharedTree(format, 1000)).value();
    for (int repeat = 0; repeat < 2; ++repeat) {
      const SharedOutcome shared = RunShared(prompt, options, tree).value();
      EXPECT_EQ(shared.tokens, cold.tokens);
      EXPECT_EQ(shared.confidences, cold.confidences);
      if (seed > 0 || repeat > 0) {
        EXPECT_LT(shared.rows, cold.rows);
      }
    }
    if (format == KvFormat::kF32) {
      const SharedOutcome alone = RunShared(prompt, options, nullptr).value();
      EXPECT_EQ(alone.tokens, cold.tokens);
      EXPECT_EQ(alone.confidences, cold.confidences);
    }
  }
  EXPECT_GT(tree->stats().hits, 8);
  EXPECT_EQ(tree->pool()->usage().pages, tree->stats().pages);
}

INSTANTIATE_TEST_SUITE_P(
    ModesAndFormats, PrefixSharingTest,
    ::testing::Combine(::testing::Values(DecodingMode::kBlock, DecodingMode::kAutoregressive),
                       ::testing::Values(KvFormat::kF32, KvFormat::kF16, KvFormat::kQ8)),
    [](const auto& test) {
      const bool block = std::get<0>(test.param) == DecodingMode::kBlock;
      return (block ? "block_" : "autoregressive_") +
             std::string(KvFormatName(std::get<1>(test.param)));
    });

TEST(PrefixSharingTest, SamePromptNeedsNoForwardForIt) {
  const auto tree = SharedTree(KvFormat::kF16, 100);
  SamplingOptions options = Options(DecodingMode::kAutoregressive);
  const SharedOutcome first = RunShared(Prompt(21, 1), options, tree).value();
  const SharedOutcome second = RunShared(Prompt(21, 1), options, tree).value();
  EXPECT_EQ(second.forwards, first.forwards - 1);
  EXPECT_EQ(second.rows, first.rows - 21);
}

TEST(PrefixSharingTest, OldPrefixesGiveWayAndTooLongTextsAreRefused) {
  const auto tree = SharedTree(KvFormat::kF16, 4);
  const SamplingOptions options = Options(DecodingMode::kAutoregressive);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_TRUE(RunShared(Prompt(20, seed), options, tree).ok());
  }
  EXPECT_GT(tree->stats().evicted_pages, 5);
  const absl::Status status =
      RunShared(Prompt(20, 9), options, SharedTree(KvFormat::kF16, 3)).status();
  EXPECT_EQ(ReasonOf(status), reasons::kKvBudgetExceeded);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);  // trying again does not help
  EXPECT_THAT(MessageOf(status), ::testing::HasSubstr("(4 pages of 16 tokens)"));
}

SamplingOptions Approximate(int refresh, int block) {
  SamplingOptions options = Options(DecodingMode::kDiffusion);
  options.approximate_cache_steps = refresh;
  options.block_length = block;
  return options;
}

TEST(ApproximateCacheTest, FullForwardEveryStepEqualsNoCache) {
  for (const int steps : {0, 5}) {
    SamplingOptions exact = Options(DecodingMode::kDiffusion);
    exact.steps = steps;
    SamplingOptions approximate = Approximate(1, 20);
    approximate.steps = steps;
    const SharedOutcome a = RunShared(Prompt(17, 3), exact, nullptr).value();
    const SharedOutcome b = RunShared(Prompt(17, 3), approximate, nullptr).value();
    EXPECT_EQ(a.tokens, b.tokens);
    EXPECT_EQ(a.confidences, b.confidences);
    EXPECT_EQ(a.rows, b.rows);
  }
}

TEST(ApproximateCacheTest, EvaluatesTheActiveBlockOnly) {
  const SharedOutcome exact =
      RunShared(Prompt(24, 3), Options(DecodingMode::kDiffusion), nullptr).value();
  const SharedOutcome all = RunShared(Prompt(24, 3), Approximate(1000, 5), nullptr).value();
  EXPECT_EQ(exact.rows, 20U * 44U);
  // There are four blocks of five steps: one full forward each, then the block and the row before
  // it.
  EXPECT_EQ(all.rows, 4U * (44U + 4U * 6U));
  EXPECT_EQ(all.forwards, 20);
  const SharedOutcome often = RunShared(Prompt(24, 3), Approximate(2, 5), nullptr).value();
  EXPECT_EQ(often.rows, 4U * (3U * 44U + 2U * 6U));
}

TEST(ApproximateCacheTest, UsesThePoolsBudget) {
  const auto tree = SharedTree(KvFormat::kF16, 100);
  EXPECT_TRUE(RunShared(Prompt(24, 3), Approximate(4, 8), tree).ok());
  EXPECT_EQ(tree->pool()->usage().pages, 0);
  const absl::Status status =
      RunShared(Prompt(24, 3), Approximate(4, 8), SharedTree(KvFormat::kF16, 2)).status();
  EXPECT_EQ(ReasonOf(status), reasons::kKvBudgetExceeded);
}

TEST(ApproximateCacheTest, OtherModesRefuseIt) {
  SamplingOptions options = Options(DecodingMode::kBlock);
  options.approximate_cache_steps = 4;
  EXPECT_EQ(ReasonOf(RunShared(Prompt(4, 1), options, nullptr).status()),
            reasons::kInvalidArgument);
}

}  // namespace
}  // namespace ruvd::inference
