// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/reasons.h"
#include "tests/inference/import_network.h"

namespace ruvd::inference {
namespace {

using test::kHeadSize;
using test::kRopeBase;
using test::LladaConfig;
using test::TransformersConfig;
using ::testing::HasSubstr;

using ImportArchitecturesTest = test::ImportNetworkTest;

TEST_F(ImportArchitecturesTest, LladaPermutesQueriesAndKeys) {
  Put("config.json", LladaConfig());
  PutWeights({.llada_names = true});
  const auto file = Import().value();
  EXPECT_EQ(file->GetString("general.architecture").value(), "llada");
  EXPECT_FALSE(file->GetBool("diffusion.shift_logits").value());
  EXPECT_FALSE(file->GetBool("llada.attention.causal").value());
  EXPECT_EQ(file->GetUnsigned("llada.rope.dimension_count").value(), uint64_t{kHeadSize});
  EXPECT_EQ(file->GetUnsigned("tokenizer.ggml.mask_token_id").value(), 257U);
  ExpectSameLogits(*file, /*adjacent=*/true, /*causal=*/false);
}

TEST_F(ImportArchitecturesTest, LladaOfTheTransformersLibrary) {
  Put("config.json", TransformersConfig("llada"));
  PutWeights({});
  ExpectSameLogits(*Import().value(), /*adjacent=*/true, /*causal=*/false);
}

TEST_F(ImportArchitecturesTest, LlamaAndMistral) {
  for (const char* type : {"llama", "mistral"}) {
    Put("config.json", TransformersConfig(type, R"(, "sliding_window": 64)"));
    PutWeights({});
    const auto file = Import().value();
    EXPECT_EQ(file->GetString("general.architecture").value(), "llama");
    EXPECT_EQ(file->GetUnsigned("llama.attention.sliding_window").value(), 64U);
    EXPECT_FALSE(file->Has("diffusion.shift_logits"));
    ExpectSameLogits(*file, /*adjacent=*/true, /*causal=*/true);
  }
}

TEST_F(ImportArchitecturesTest, Qwen2WithBiases) {
  Put("config.json", TransformersConfig("qwen2", R"(, "tie_word_embeddings": true,
    "use_sliding_window": false, "sliding_window": 64)"));
  PutWeights({.biases = true, .tied = true});
  const auto file = Import().value();
  EXPECT_EQ(file->GetString("general.architecture").value(), "qwen2");
  EXPECT_FALSE(file->Has("qwen2.attention.sliding_window"));
  EXPECT_EQ(file->Find("output.weight"), nullptr);
  ExpectSameLogits(*file, /*adjacent=*/false, /*causal=*/true);
}

TEST_F(ImportArchitecturesTest, BiasesArePermutedWithTheirRows) {
  Put("config.json", TransformersConfig("qwen2"));
  PutWeights({.biases = true});
  ExpectSameLogits(*Import("llama").value(), /*adjacent=*/true, /*causal=*/true);
}

TEST_F(ImportArchitecturesTest, Qwen3HasNormsOfHeads) {
  Put("config.json", TransformersConfig("qwen3", fmt::format(R"(, "head_dim": {})", kHeadSize)));
  PutWeights({.head_norms = true});
  const auto file = Import().value();
  EXPECT_EQ(file->GetString("general.architecture").value(), "qwen3");
  ExpectSameLogits(*file, /*adjacent=*/false, /*causal=*/true);
  EXPECT_THAT(Refusal(reasons::kInvalidArgument, "llama"), HasSubstr("\"llama\""));
}

TEST_F(ImportArchitecturesTest, DreamAsLladaIsTheSameNetwork) {
  Put("config.json", TransformersConfig("Dream", R"(, "diffusion": {"shift_logits": true})"));
  PutWeights({});
  ExpectSameLogits(*Import().value(), /*adjacent=*/false, /*causal=*/false);
  const auto llada = Import("llada").value();
  EXPECT_TRUE(llada->GetBool("diffusion.shift_logits").value());
  ExpectSameLogits(*llada, /*adjacent=*/true, /*causal=*/false);
}

TEST_F(ImportArchitecturesTest, ShardsAreOneModel) {
  Put("config.json", LladaConfig());
  PutWeights({.llada_names = true}, 3);
  ExpectSameLogits(*Import().value(), /*adjacent=*/true, /*causal=*/false);
}

TEST_F(ImportArchitecturesTest, RopeScalingBecomesKeys) {
  PutWeights({});
  Put("config.json",
      TransformersConfig("llama", R"(, "rope_scaling": {"type": "linear", "factor": 2.0})"));
  auto file = Import().value();
  EXPECT_EQ(file->GetString("llama.rope.scaling.type").value(), "linear");
  EXPECT_EQ(file->GetFloat("llama.rope.scaling.factor").value(), 2);
  Put("config.json",
      TransformersConfig("qwen2", R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
        "original_max_position_embeddings": 32, "beta_fast": 16.0})"));
  file = Import().value();
  EXPECT_EQ(file->GetString("qwen2.rope.scaling.type").value(), "yarn");
  EXPECT_EQ(file->GetUnsigned("qwen2.rope.scaling.original_context_length").value(), 32U);
  EXPECT_EQ(file->GetFloat("qwen2.rope.scaling.yarn_beta_fast").value(), 16);
  EXPECT_FALSE(file->Has("qwen2.rope.scaling.yarn_beta_slow"));
}

// Short wavelengths are kept, long ones are divided by the factor; the pairs in between follow the
// blend of Llama 3.1's formula, which is recomputed here from frequencies.
TEST_F(ImportArchitecturesTest, Llama3ScalingBecomesATensor) {
  PutWeights({});
  const char* const scaling = R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 256})";
  Put("config.json", TransformersConfig("llama", scaling));
  const auto file = Import().value();
  const TensorInfo* tensor = file->Find("rope_freqs.weight");
  ASSERT_NE(tensor, nullptr);
  ASSERT_EQ(tensor->values(), uint64_t{kHeadSize / 2});
  std::vector<float> divisors(tensor->values());
  ASSERT_TRUE(Dequantize(tensor->type, file->Data(*tensor), divisors).ok());
  for (size_t i = 0; i < divisors.size(); ++i) {
    const double frequency = std::pow(kRopeBase, -2.0 * static_cast<double>(i) / kHeadSize);
    const double wavelength = 2 * std::numbers::pi / frequency;
    double expected = 8;
    if (wavelength < 256.0 / 4) {
      expected = 1;
    } else if (wavelength <= 256.0 / 1) {
      const double smooth = (256 / wavelength - 1) / (4 - 1);
      expected = frequency / ((1 - smooth) * frequency / 8 + smooth * frequency);
    }
    EXPECT_NEAR(divisors[i], expected, 1e-5) << i;
  }
  EXPECT_EQ(divisors.front(), 1.0F);
  EXPECT_EQ(divisors.back(), 8.0F);
  ExpectSameLogits(*file, /*adjacent=*/true, /*causal=*/true);
  Put("config.json", TransformersConfig("qwen2", scaling));
  EXPECT_THAT(Refusal(reasons::kModelUnsupported), HasSubstr("llama3"));
}

}  // namespace
}  // namespace ruvd::inference
