// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests where a completion ends: at tokens that end the text, and at tokens that end a turn of a
// chat.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "inference/engine/completion_text.h"
#include "inference/engine/generation.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/end_of_turn_model.h"
#include "tests/inference/finished_generation.h"

namespace ruvd::inference {
namespace {

using test::FinishedGeneration;

const std::vector<TokenId> kPrompt = {'o', 'n', 'c', 'e'};

FinishedGeneration Complete(const std::shared_ptr<const Model>& model,
                            const SamplingOptions& options,
                            const std::vector<TokenId>& suffix = {}) {
  std::vector<TokenId> canvas = kPrompt;
  std::unique_ptr<Generation> generation;
  if (suffix.empty()) {
    generation = Generation::Create(*model, canvas, options, nullptr).value();
  } else {
    canvas.resize(canvas.size() + static_cast<size_t>(options.max_tokens), kNoToken);
    canvas.insert(canvas.end(), suffix.begin(), suffix.end());
    generation = Generation::CreateInfill(*model, canvas, options, nullptr).value();
  }
  CpuTransformer transformer(model, SerialRunner());
  return test::RunToEnd(*generation, transformer).value();
}

std::vector<TokenId> CompletionOf(const FinishedGeneration& finished) {
  return {finished.tokens.begin() + finished.prompt_length, finished.tokens.end()};
}

TokenId FirstCommitted(const FinishedGeneration& finished) {
  return finished.steps.front().commits.front().token;
}

SamplingOptions Options(DecodingMode mode) {
  return {.mode = mode, .max_tokens = 16};
}

constexpr DecodingMode kModes[] = {DecodingMode::kDiffusion, DecodingMode::kBlock,
                                   DecodingMode::kAutoregressive};

// Regression test: what a model without such a token writes first ends the text of a model that has
// it.
TEST(EndOfTurnTest, CompletionsWentOnBehindTheEndOfATurn) {
  for (const DecodingMode mode : kModes) {
    const FinishedGeneration plain =
        Complete(test::TextModelWithEndOfTurn(kNoToken), Options(mode));
    ASSERT_EQ(plain.reason, FinishReason::kLength);
    const TokenId end = FirstCommitted(plain);
    const auto model = test::TextModelWithEndOfTurn(end);
    ASSERT_EQ(model->tokenizer().end_of_turn_id(), end);
    const FinishedGeneration outcome = Complete(model, Options(mode));
    EXPECT_EQ(outcome.reason, FinishReason::kEndOfText);
    const std::vector<TokenId> completion = CompletionOf(outcome);
    const auto place = std::find(completion.begin(), completion.end(), end);
    ASSERT_NE(place, completion.end());
    const std::vector<TokenId> before(completion.begin(), place);
    CompletionText expected(model->tokenizer(), {}, {});
    EXPECT_EQ(outcome.text, expected.Append(before) + expected.Finish());
    const int first = outcome.steps.front().commits.front().position;
    for (const StepResult& step : outcome.steps) {
      for (const Commit& commit : step.commits) {
        EXPECT_LE(commit.position, first);  // nothing after it
      }
    }
  }
}

TEST(EndOfTurnTest, IgnoringEndsIgnoresTheEndOfATurnToo) {
  for (const DecodingMode mode : kModes) {
    const FinishedGeneration plain =
        Complete(test::TextModelWithEndOfTurn(kNoToken), Options(mode));
    SamplingOptions options = Options(mode);
    options.ignore_end_of_text = true;
    const FinishedGeneration outcome =
        Complete(test::TextModelWithEndOfTurn(FirstCommitted(plain)), options);
    EXPECT_EQ(outcome.reason, FinishReason::kLength);
    EXPECT_EQ(outcome.tokens, plain.tokens);
  }
}

TEST(EndOfTurnTest, NoTurnEndsBeforeAGivenToken) {
  const SamplingOptions options = Options(DecodingMode::kDiffusion);
  const std::vector<TokenId> suffix = {'e', 'n', 'd'};
  const FinishedGeneration plain =
      Complete(test::TextModelWithEndOfTurn(kNoToken), options, suffix);
  const TokenId end = FirstCommitted(plain);
  const FinishedGeneration outcome = Complete(test::TextModelWithEndOfTurn(end), options, suffix);
  EXPECT_EQ(outcome.reason, FinishReason::kLength);
  const std::vector<TokenId> completion = CompletionOf(outcome);
  EXPECT_EQ(std::count(completion.begin(), completion.end(), end), 0);
}

}  // namespace
}  // namespace ruvd::inference
