// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which forwards a completion needs besides those of its steps.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "inference/retrieval/whitening.h"
#include "node/serving/extensions/guided_retrieval.h"
#include "node/serving/late_embedding.h"
#include "tests/node/serving/embedded_prompts.h"
#include "tests/node/serving/generation_fixture.h"

namespace ruvd::serving {
namespace {

class PromptForwardTest : public GenerationTaskTest {
 protected:
  static inference::SamplingOptions In(inference::DecodingMode mode) {
    return {.mode = mode, .max_tokens = 5, .ignore_end_of_text = true};
  }
  // Returns the sequences that the next completion forwards besides those of its steps.
  size_t Others(const inference::SamplingOptions& options) {
    transformer_->sequences.clear();
    const GenerationFinished finished = Run(options);
    size_t all = 0;
    for (const size_t sequences : transformer_->sequences) {
      all += sequences;
    }
    return all - static_cast<size_t>(finished.forwards);
  }
  // Returns the embedding that a completion must store, bit for bit.
  std::vector<float> EmbeddingOfThePrompt() {
    return inference::EmbedText(*inner_, PromptTokens(*model_, "once"), nullptr).value();
  }
  void StoreAPattern() {
    std::vector<float> elsewhere(static_cast<size_t>(model_->config().width));
    elsewhere.front() = 1;
    ASSERT_TRUE(patterns_->Put({.id = storage::PatternId{1}, .embedding = elsewhere}).ok());
  }
};

TEST_F(PromptForwardTest, WhereNothingCanBeFoundNoPromptIsEmbedded) {
  Use(test::TinyTextModel());
  GuidedRetrieval guided({.strategy = inference::DgrStrategy::kHybrid, .interval = 1}, *adapters_,
                         nullptr);
  services_.extensions.push_back(&guided);
  for (const auto mode : {inference::DecodingMode::kAutoregressive, inference::DecodingMode::kBlock,
                          inference::DecodingMode::kDiffusion}) {
    inference::SamplingOptions options = In(mode);
    options.block_length = mode == inference::DecodingMode::kBlock ? 4 : 0;
    EXPECT_EQ(Others(options), 0u);
    EXPECT_TRUE(trajectories_->Get("r")->embedding.empty());
  }
  // Whatever needs it later computes the same.
  EXPECT_EQ(EmbeddingOf(*trajectories_->Get("r"), *inner_, nullptr, {}).value(),
            EmbeddingOfThePrompt());
}

TEST_F(PromptForwardTest, AStoredPatternOrAnExtensionAsksForTheEmbedding) {
  Use(test::TinyTextModel());
  test::EmbeddedPrompts embedded;
  services_.extensions.push_back(&embedded);
  EXPECT_EQ(Others(In(inference::DecodingMode::kDiffusion)), 1u);
  const std::vector<float> embedding = EmbeddingOfThePrompt();
  EXPECT_EQ(trajectories_->Get("r")->embedding, embedding);
  services_.extensions.clear();
  StoreAPattern();
  EXPECT_EQ(Others(In(inference::DecodingMode::kDiffusion)), 1u);
  EXPECT_EQ(trajectories_->Get("r")->embedding, embedding);
}

TEST_F(PromptForwardTest, TheEmbeddingsForwardIsTheFirstOfDecodingTokenByToken) {
  const auto model = std::make_shared<test::TextModel>();
  model->mutable_config().causal = true;
  Use(model);
  StoreAPattern();
  services_.prefixes = std::make_shared<inference::PrefixTree>(
      inference::KvPool::Create(model_->config(), inference::KvFormat::kF32, 1 << 24).value());
  transformer_->sequences.clear();
  const GenerationFinished finished = Run(In(inference::DecodingMode::kAutoregressive));
  EXPECT_EQ(finished.forwards, 4) << "the first token comes from the embedding's forward";
  EXPECT_EQ(transformer_->sequences.size(), 5u) << "the prompt once, and each token but the last";
  EXPECT_EQ(trajectories_->Get("r")->embedding, EmbeddingOfThePrompt());
}

}  // namespace
}  // namespace ruvd::serving
