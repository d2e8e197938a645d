// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/prompt_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/inference/text_model.h"

namespace ruvd::serving {
namespace {

using test::kTinyEndOfText;
using test::TextModel;
using ::testing::ElementsAre;

constexpr inference::TokenId kBos = 255;  // any token will do

std::unique_ptr<const TextModel> ModelThatWantsBos(bool wants) {
  return std::make_unique<const TextModel>(
      TextModel::Defaults(), test::ByteTokenizer([wants](inference::GgufWriter* writer) {
        writer->SetUnsigned32("tokenizer.ggml.bos_token_id", kBos);
        writer->SetBool("tokenizer.ggml.add_bos_token", wants);
        writer->SetBool("tokenizer.ggml.add_eos_token", true);
      }));
}

TEST(PromptTokensTest, PromptsLackedTheBeginningOfTextToken) {
  const auto model = ModelThatWantsBos(true);
  EXPECT_THAT(PromptTokens(*model, "ab"), ElementsAre(kBos, 'a', 'b'));
  EXPECT_THAT(PromptTokens(*model, ""), ElementsAre(kBos));
}

TEST(PromptTokensTest, OtherModelsBeginWithTheText) {
  const auto model = ModelThatWantsBos(false);
  EXPECT_THAT(PromptTokens(*model, "ab"), ElementsAre('a', 'b'));
  EXPECT_THAT(PromptTokens(*model, ""), ElementsAre(kTinyEndOfText));
}

TEST(CanvasTokensTest, TheBeginningOfTextTokenStandsAtTheStartOnly) {
  const auto model = ModelThatWantsBos(true);
  EXPECT_THAT(CanvasTokens(*model, {{.text = "a"}, {.gap = 2}, {.text = "b"}}),
              ElementsAre(kBos, 'a', inference::kNoToken, inference::kNoToken, 'b'));
  EXPECT_THAT(CanvasTokens(*model, {{.gap = 1}, {.text = "b"}}),
              ElementsAre(kBos, inference::kNoToken, 'b'));
}

TEST(CanvasTokensTest, OtherModelsBeginAGapBehindTheEndOfAText) {
  const auto model = ModelThatWantsBos(false);
  EXPECT_THAT(CanvasTokens(*model, {{.gap = 1}, {.text = "b"}}),
              ElementsAre(kTinyEndOfText, inference::kNoToken, 'b'));
}

}  // namespace
}  // namespace ruvd::serving
