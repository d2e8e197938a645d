// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/prompt_embedding.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "inference/engine/generation.h"
#include "inference/model/limits.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/counting_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

class PromptEmbeddingTest : public ::testing::Test {
 protected:
  void Use(bool causal, KvFormat format, uint64_t pages = 64) {
    test::TinyModel::Options options = test::TextModel::Defaults();
    options.context = 700;
    auto model = std::make_shared<test::TextModel>(options);
    model->mutable_config().causal = causal;
    model_ = model;
    inner_ = std::make_unique<CpuTransformer>(model_, SerialRunner());
    transformer_ = std::make_unique<test::CountingTransformer>(*inner_);
    const uint64_t page = KvLayout(model_->config(), format).page_bytes();
    prefixes_ = std::make_shared<PrefixTree>(
        KvPool::Create(model_->config(), format, pages * page).value());
  }
  static std::vector<TokenId> Prompt(size_t length) {
    Random random(7);
    std::vector<TokenId> prompt(length);
    for (TokenId& token : prompt) {
      token = static_cast<TokenId>(random.Below(256));
    }
    return prompt;
  }
  std::vector<float> Embed(const std::vector<TokenId>& prompt) {
    const auto embedding = EmbedPrompt(*transformer_, prompt, nullptr, prefixes_.get());
    EXPECT_TRUE(embedding.ok()) << embedding.status();
    return embedding.value_or(std::vector<float>());
  }
  // Returns how many forwards a completion of some tokens needs, and checks that it is what it is
  // without shared prefixes.
  size_t Complete(const std::vector<TokenId>& prompt) {
    const SamplingOptions options = {
        .mode = DecodingMode::kAutoregressive, .max_tokens = 4, .ignore_end_of_text = true};
    auto shared = Generation::Create(*model_, prompt, options, nullptr, prefixes_).value();
    auto alone = Generation::Create(*model_, prompt, options, nullptr).value();
    while (!alone->done()) {
      EXPECT_TRUE(alone->Step(*inner_).ok());
    }
    const size_t before = transformer_->sequences.size();
    while (!shared->done()) {
      EXPECT_TRUE(shared->Step(*transformer_).ok());
    }
    EXPECT_EQ(shared->tokens(), alone->tokens());
    return transformer_->sequences.size() - before;
  }

  std::shared_ptr<const Model> model_;
  std::unique_ptr<CpuTransformer> inner_;
  std::unique_ptr<test::CountingTransformer> transformer_;
  std::shared_ptr<PrefixTree> prefixes_;
};

TEST_F(PromptEmbeddingTest, TheCompletionFindsWhatTheEmbeddingComputed) {
  Use(/*causal=*/true, KvFormat::kF32);
  for (const size_t length : {1, 5, 16, 37, 100}) {
    SCOPED_TRACE(length);
    const std::vector<TokenId> prompt = Prompt(length);
    EXPECT_EQ(Embed(prompt), EmbedText(*inner_, prompt, nullptr).value()) << "bit for bit";
    EXPECT_EQ(Complete(prompt), 3u) << "the first token needs no forward";
  }
}

TEST_F(PromptEmbeddingTest, WhereItIsAnotherForwardNothingIsShared) {
  const std::vector<TokenId> prompt = Prompt(20);
  for (const auto& [causal, format] :
       {std::pair(false, KvFormat::kF32), std::pair(true, KvFormat::kF16)}) {
    Use(causal, format);
    EXPECT_EQ(Embed(prompt), EmbedText(*inner_, prompt, nullptr).value());
    EXPECT_EQ(prefixes_->stats().pages, 0u);
  }
  Use(/*causal=*/true, KvFormat::kF32);
  const std::vector<TokenId> longer = Prompt(limits::kEmbeddedTokens + 1);
  EXPECT_EQ(Embed(longer), EmbedText(*inner_, longer, nullptr).value());
  EXPECT_EQ(prefixes_->stats().pages, 0u) << "only its end is embedded";
  EXPECT_FALSE(EmbedPrompt(*transformer_, Prompt(701), nullptr, prefixes_.get()).ok());
}

TEST_F(PromptEmbeddingTest, WithoutMemoryForItTheEmbeddingIsStillComputed) {
  Use(/*causal=*/true, KvFormat::kF32, /*pages=*/1);
  const std::vector<TokenId> prompt = Prompt(40);
  EXPECT_EQ(Embed(prompt), EmbedText(*inner_, prompt, nullptr).value());
  EXPECT_EQ(prefixes_->stats().pages, 0u);
}

}  // namespace
}  // namespace ruvd::inference
