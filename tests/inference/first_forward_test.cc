// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/router/first_forward.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "inference/sampler/distribution.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

class FirstForwardTest : public ::testing::Test {
 protected:
  FirstForward Read(const std::vector<TokenId>& prompt, DecodingMode mode, int tokens) {
    return ReadFirstForward(transformer_, prompt, mode, tokens).value();
  }

  const std::shared_ptr<const test::TextModel> model_ = test::TinyTextModel();
  CpuTransformer transformer_{model_, SerialRunner()};
};

TEST_F(FirstForwardTest, TokenByTokenItIsWhatFollowsTheLastToken) {
  const std::vector<TokenId> prompt = {3, 1, 4, 1, 5};
  ForwardOutput output;
  ASSERT_TRUE(
      transformer_
          .Forward({.tokens = prompt, .attention = {.kind = Attention::Kind::kCausal}}, &output)
          .ok());
  const auto width = static_cast<size_t>(model_->config().width);
  const auto vocabulary = static_cast<size_t>(model_->config().vocabulary);
  std::vector<float> logits(vocabulary);
  transformer_.Logits(std::span<const float>(output.hidden).last(width), nullptr, logits);
  const RowSummary summary = Summarise(logits, model_->tokenizer().mask_id().value_or(kNoToken));
  const FirstForward read = Read(prompt, DecodingMode::kAutoregressive, 8);
  EXPECT_NEAR(read.confidence, summary.Probability(logits[summary.best]), 1e-5);
  EXPECT_NEAR(read.entropy, summary.entropy / std::log(static_cast<float>(vocabulary)), 1e-5);
}

TEST_F(FirstForwardTest, InTheMaskedModesItIsTheMeanOfTheFirstMasks) {
  const std::vector<TokenId> prompt = {3, 1, 4};
  const FirstForward one = Read(prompt, DecodingMode::kBlock, 1);
  const FirstForward more = Read(prompt, DecodingMode::kDiffusion, 8);
  for (const FirstForward& read : {one, more}) {
    EXPECT_GT(read.entropy, 0);
    EXPECT_LE(read.entropy, 1);
    EXPECT_GT(read.confidence, 0);
    EXPECT_LE(read.confidence, 1);
  }
  EXPECT_NE(one.confidence, more.confidence);
  // More masks than the reader looks at change nothing.
  EXPECT_EQ(Read(prompt, DecodingMode::kDiffusion, 16).confidence,
            Read(prompt, DecodingMode::kDiffusion, 1000).confidence);
}

TEST_F(FirstForwardTest, AnyPromptThatFitsTheContextIsRead) {
  const std::vector<TokenId> full(static_cast<size_t>(model_->config().context), 7);
  for (const DecodingMode mode : {DecodingMode::kDiffusion, DecodingMode::kAutoregressive}) {
    EXPECT_TRUE(ReadFirstForward(transformer_, full, mode, 8).ok());
    EXPECT_TRUE(absl::IsInvalidArgument(ReadFirstForward(transformer_, {}, mode, 8).status()));
  }
}

}  // namespace
}  // namespace ruvd::inference
