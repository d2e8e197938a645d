// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/convert/text_crops.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "inference/train/model_weights.h"
#include "inference/train/network_pass.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using train::Prediction;
using train::TrainingSequence;

constexpr TokenId kMaskId = test::kTinyMask;

std::vector<TokenId> Numbers(size_t count) {
  std::vector<TokenId> stream(count);
  std::iota(stream.begin(), stream.end(), TokenId{0});
  return stream;
}

CropOptions Options() {
  return {.rules = {.mask = kMaskId, .shift = true},
          .length = 10,
          .batch = 4,
          .block_length = 4,
          .steps = 100};
}

// The clean half of a sequence begins with the crop's first token.
TokenId BeginOf(const TrainingSequence& sequence) {
  return sequence.tokens[sequence.tokens.size() / 2];
}

TEST(TextCropsTest, AnEpochHasEveryCropOnce) {
  const auto objective = MakeCropObjective(Numbers(249), Options());
  // 249 tokens without an offset of up to 9 are 24 crops: 6 steps.
  std::set<TokenId> offsets;
  for (int epoch = 0; epoch < 4; ++epoch) {
    std::set<TokenId> begins;
    for (int step = 0; step < 6; ++step) {
      for (const TrainingSequence& sequence : objective->Draw(epoch * 6 + step)) {
        ASSERT_EQ(sequence.tokens.size(), 20U);
        begins.insert(BeginOf(sequence));
      }
    }
    EXPECT_EQ(begins.size(), 24U);
    for (const TokenId begin : begins) {
      EXPECT_EQ(begin % 10, *begins.begin() % 10);
    }
    offsets.insert(*begins.begin());
  }
  EXPECT_GT(offsets.size(), 1U);
}

TEST(TextCropsTest, TheShortestStreamIsOneCrop) {
  const auto objective = MakeCropObjective(Numbers(10), Options());
  for (const TrainingSequence& sequence : objective->Draw(3)) {
    EXPECT_EQ(BeginOf(sequence), 0U);
  }
  EXPECT_EQ(HeldOutCrops(Numbers(10), 5, Options()).size(), 1U);
}

// Every block has a mask, every mask is predicted from the token before it, and a token's exact
// weight is the block's length over its masks.
TEST(TextCropsTest, BlocksAreMaskedAndWeighted) {
  double weights = 0;
  const auto held_out = HeldOutCrops(Numbers(200), 8, Options());
  ASSERT_EQ(held_out.size(), 8U);
  for (const TrainingSequence& sequence : held_out) {
    EXPECT_EQ(sequence.attention.kind, Attention::Kind::kNoisyAndClean);
    EXPECT_EQ(sequence.attention.block_length, 4);
    std::map<size_t, int> masks;
    for (size_t i = 0; i < 10; ++i) {
      masks[i / 4] += sequence.tokens[i] == kMaskId ? 1 : 0;
    }
    for (size_t block = 0; block < 3; ++block) {
      EXPECT_GT(masks[block], 0);
    }
    for (const Prediction& prediction : sequence.predictions) {
      weights += prediction.weight;
    }
  }
  EXPECT_NEAR(weights, 1.0, 1e-12) << "the mean over tokens and crops";
}

TEST(TextCropsTest, BlocksGrowFromOne) {
  CropOptions options = Options();
  options.block_length = 16;
  EXPECT_EQ(BlockLengthAt(options, 0), 16);
  options.anneal = 0.5;
  const std::vector<std::pair<uint64_t, int>> expected = {{0, 1},  {12, 1}, {13, 2},  {25, 4},
                                                          {38, 8}, {49, 8}, {50, 16}, {99, 16}};
  for (const auto& [step, block] : expected) {
    EXPECT_EQ(BlockLengthAt(options, step), block) << step;
  }
  options.block_length = 6;
  EXPECT_EQ(BlockLengthAt(options, 49), 4);
  EXPECT_EQ(BlockLengthAt(options, 50), 6);
}

// This is why growth begins with blocks of one: their losses are the causal ones.
TEST(TextCropsTest, BlocksOfOneAreNextTokenPrediction) {
  const auto model = std::make_shared<const test::TextModel>();
  const auto weights = train::ModelWeights::Create(model, nullptr, SerialRunner()).value();
  train::NetworkPass<float> pass(*weights, SerialRunner(), {});
  CropOptions options = Options();
  options.anneal = 1;
  options.batch = 1;
  const auto batch = MakeCropObjective(Numbers(10), options)->Draw(0);
  pass.Run(batch, {});
  const std::vector<double> blocks(pass.nats(0).begin(), pass.nats(0).end());
  const std::vector<TrainingSequence> causal = {
      train::NextTokenSequence({.prompt = {}, .completion = Numbers(10)}, 1.0)};
  pass.Run(causal, {});
  ASSERT_EQ(blocks.size(), 10U);
  for (size_t i = 1; i < 10; ++i) {
    EXPECT_NEAR(blocks[i], pass.nats(0)[i - 1], 1e-5);
  }
}

}  // namespace
}  // namespace ruvd::inference
