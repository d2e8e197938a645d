// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Compares what architectures and keys change with a double-precision transformer.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "inference/model/rope.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/reference_transformer.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::inference {
namespace {

using test::Reference;
using test::RelativeRms;
using test::TinyModel;

constexpr size_t kTokens = 37;
constexpr Attention kCausal{.kind = Attention::Kind::kCausal};

bool SeesAll(size_t, size_t) {
  return true;
}
bool SeesEarlier(size_t i, size_t j) {
  return j <= i;
}

std::vector<TokenId> Tokens() {
  Random random(3);
  std::vector<TokenId> tokens(kTokens);
  for (TokenId& token : tokens) {
    token = static_cast<TokenId>(random.Below(40));
  }
  return tokens;
}

std::vector<float> RandomNorm(size_t size, uint64_t seed) {
  Random random(seed);
  std::vector<float> weight(size);
  for (float& value : weight) {
    value = static_cast<float>(1 + 0.3 * random.Normal());
  }
  return weight;
}

std::vector<float> Hidden(const std::shared_ptr<const TinyModel>& model,
                          const Attention& attention) {
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<TokenId> tokens = Tokens();
  ForwardOutput output;
  const absl::Status status =
      transformer.Forward({.tokens = tokens, .attention = attention}, &output);
  EXPECT_TRUE(status.ok()) << status;
  return output.hidden;
}

// The change makes a difference, and it is the difference that the reference has.
void ExpectAsReference(const std::shared_ptr<TinyModel>& model, const Attention& attention,
                       const test::Sees& sees) {
  const auto plain = std::make_shared<TinyModel>(TinyModel::Options{});
  const std::vector<float> expected = Reference(*model, sees).Hidden(Tokens());
  EXPECT_LT(RelativeRms(Hidden(model, attention), expected), 3e-6);
  if (expected.size() == kTokens * 64) {
    EXPECT_GT(RelativeRms(Hidden(plain, attention), expected), 1e-3);
  }
}

TEST(TransformerArchitecturesTest, RotatesAdjacentPairsAsLlamaAndLladaDo) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  model->mutable_config().rope_adjacent = true;
  ExpectAsReference(model, {}, SeesAll);
  ExpectAsReference(model, kCausal, SeesEarlier);
}

TEST(TransformerArchitecturesTest, RotatesAPartOfAHead) {
  for (const bool adjacent : {false, true}) {
    const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
    model->mutable_config().rope_dimensions = 10;
    model->mutable_config().rope_adjacent = adjacent;
    ExpectAsReference(model, {}, SeesAll);
  }
}

TEST(TransformerArchitecturesTest, NormsEveryHeadBeforeRopeAsQwen3Does) {
  // The heads are wider than the embedding allows, as in Qwen3-0.6B.
  const auto model = std::make_shared<TinyModel>(
      TinyModel::Options{.heads = 4, .kv_heads = 2, .head_size = 40, .biases = false});
  for (int l = 0; l < 2; ++l) {
    model->mutable_layer(l).q_norm = RandomNorm(40, 20);
    model->mutable_layer(l).k_norm = RandomNorm(40, 21);
  }
  ExpectAsReference(model, kCausal, SeesEarlier);
  EXPECT_GT(RelativeRms(Hidden(std::make_shared<TinyModel>(TinyModel::Options{
                                   .heads = 4, .kv_heads = 2, .head_size = 40, .biases = false}),
                               kCausal),
                        Hidden(model, kCausal)),
            1e-3);
}

TEST(TransformerArchitecturesTest, ScalesRopeLinearlyAndByYarnAndByDivisors) {
  const RopeScaling linear{.kind = RopeScaling::Kind::kLinear, .factor = 4};
  const RopeScaling yarn{.kind = RopeScaling::Kind::kYarn, .factor = 4, .original_context = 2048};
  RopeScaling steep = yarn;
  steep.attn_factor = 1.5F;
  steep.beta_fast = 12;
  steep.beta_slow = 3;
  for (const RopeScaling& scaling : {linear, yarn, steep}) {
    for (const bool divided : {false, true}) {
      const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
      model->mutable_config().rope_scaling = scaling;
      if (divided) {
        model->mutable_config().rope_divisors = {1, 1, 1.5F, 2, 4, 8, 8, 8};
      }
      ExpectAsReference(model, kCausal, SeesEarlier);
    }
  }
}

// Heads of 128 values, base 1e6, and a context of 32768 stretched by 4, as Qwen2.5's documentation
// asks for. Its program leaves pairs up to 23 unchanged and divides those from 40 on: a pair turns
// 32768 * 1e6^(-i/64) / 2 pi times, which is above 32 up to i = 23.6 and below 1 from 39.7 on.
TEST(RopeTest, YarnHasItsPublishedValues) {
  ModelConfig config{.head_size = 128, .rope_base = 1e6F};
  const std::vector<double> plain = RopeFrequencies(config);
  EXPECT_DOUBLE_EQ(plain[0], 1.0);
  EXPECT_NEAR(plain[32], 1e-3, 1e-15);
  EXPECT_DOUBLE_EQ(RopeMagnitude(config), 1.0);
  config.rope_scaling = {.kind = RopeScaling::Kind::kYarn, .factor = 4, .original_context = 32768};
  const std::vector<double> yarn = RopeFrequencies(config);
  ASSERT_EQ(yarn.size(), 64U);
  for (size_t i = 0; i < yarn.size(); ++i) {
    const double share = i <= 23 ? 0 : i >= 40 ? 1 : static_cast<double>(i - 23) / 17;
    EXPECT_NEAR(yarn[i] / plain[i], 1 - 0.75 * share, 1e-12) << "pair " << i;
  }
  EXPECT_NEAR(RopeMagnitude(config), 1.1386294361, 1e-9) << "0.1 ln 4 + 1";
}

TEST(TransformerArchitecturesTest, SlidingWindowHidesWhatIsFurtherBack) {
  for (const int window : {1, 7, 36, 37}) {
    const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
    model->mutable_config().sliding_window = window;
    const std::vector<float> expected = Reference(*model, [window](size_t i, size_t j) {
                                          return j <= i && i - j < static_cast<size_t>(window);
                                        }).Hidden(Tokens());
    EXPECT_LT(RelativeRms(Hidden(model, kCausal), expected), 3e-6) << window;
  }
}

TEST(TransformerArchitecturesTest, SlidingWindowRefusesOtherAttention) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  model->mutable_config().sliding_window = 8;
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<TokenId> tokens = Tokens();
  ForwardOutput output;
  EXPECT_EQ(ReasonOf(transformer.Forward({.tokens = tokens}, &output)), reasons::kModeUnsupported);
}

TEST(TransformerArchitecturesTest, SharesKeysAmongAnyNumberOfHeads) {
  for (const int kv_heads : {1, 2, 4}) {
    const auto model = std::make_shared<TinyModel>(TinyModel::Options{.kv_heads = kv_heads});
    const std::vector<float> expected = Reference(*model, SeesAll).Hidden(Tokens());
    EXPECT_LT(RelativeRms(Hidden(model, {}), expected), 3e-6);
  }
}

}  // namespace
}  // namespace ruvd::inference
