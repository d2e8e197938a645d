// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/import/hf_tokenizer.h"
#include "inference/import/hf_tokenizer_config.h"
#include "inference/import/hf_weights.h"

namespace ruvd::inference {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// A configuration without rope_theta.
json Config(const std::string& type) {
  return {{"model_type", type},       {"hidden_size", 64},
          {"intermediate_size", 96},  {"num_hidden_layers", 2},
          {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"vocab_size", 300},        {"rms_norm_eps", 1e-6},
          {"hidden_act", "silu"},     {"max_position_embeddings", 128}};
}

json Llada() {
  return {{"model_type", "llada"}, {"d_model", 64},
          {"mlp_hidden_size", 96}, {"n_layers", 2},
          {"n_heads", 4},          {"n_kv_heads", 4},
          {"vocab_size", 300},     {"rms_norm_eps", 1e-6},
          {"rope_theta", 5e5},     {"max_sequence_length", 128}};
}

json With(json config, const char* key, json value) {
  config[key] = std::move(value);
  return config;
}

HfConfig Parsed(const json& config) {
  auto parsed = ParseHfConfig(config.dump());
  EXPECT_TRUE(parsed.ok()) << parsed.status() << "\n" << config;
  return parsed.ok() ? *std::move(parsed) : HfConfig{};
}

// Returns the message of a refusal for this reason.
std::string Refusal(const json& config, const char* reason = reasons::kModelUnsupported) {
  const absl::Status status = ParseHfConfig(config.dump()).status();
  EXPECT_EQ(ReasonOf(status), reason) << status << "\n" << config;
  return MessageOf(status);
}

TEST(HfConfigTest, RopeParametersOfTransformers5HoldThetaAndScaling) {
  const json plain =
      With(Config("qwen3"), "rope_parameters", {{"rope_theta", 1e6}, {"rope_type", "default"}});
  EXPECT_EQ(Parsed(plain).rope_base, 1e6);
  EXPECT_EQ(Parsed(plain).rope_scaling.kind, HfRopeScaling::Kind::kNone);
  const HfConfig llama3 = Parsed(With(Config("llama"), "rope_parameters",
                                      {{"rope_theta", 5e5},
                                       {"rope_type", "llama3"},
                                       {"factor", 8.0},
                                       {"low_freq_factor", 1.0},
                                       {"high_freq_factor", 4.0},
                                       {"original_max_position_embeddings", 64}}));
  EXPECT_EQ(llama3.rope_base, 5e5);
  EXPECT_EQ(llama3.rope_scaling.kind, HfRopeScaling::Kind::kLlama3);
  EXPECT_EQ(llama3.rope_scaling.factor, 8);
  const HfConfig yarn = Parsed(
      With(Config("qwen2"), "rope_parameters",
           {{"rope_theta", 1e6}, {"rope_type", "yarn"}, {"factor", 4.0}, {"beta_fast", 16.0}}));
  EXPECT_EQ(yarn.rope_scaling.kind, HfRopeScaling::Kind::kYarn);
  EXPECT_EQ(yarn.rope_scaling.beta_fast, 16);
}

TEST(HfConfigTest, OnlyTheFirstLlamaFilesNameNoTheta) {
  EXPECT_EQ(Parsed(Config("llama")).rope_base, 10000);
  for (const char* type : {"qwen2", "qwen3", "mistral", "Dream"}) {
    EXPECT_THAT(Refusal(Config(type), reasons::kModelCorrupt), HasSubstr("rope_theta is missing"));
  }
  EXPECT_THAT(Refusal(With(Config("llama"), "rope_parameters", {{"rope_type", "default"}}),
                      reasons::kModelCorrupt),
              HasSubstr("rope_theta is missing"));
}

TEST(HfConfigTest, RefusesRotationsThatContradictEachOther) {
  json config = With(Config("qwen2"), "rope_parameters", {{"rope_theta", 1e6}});
  config["rope_theta"] = 1e4;
  EXPECT_THAT(Refusal(config, reasons::kModelCorrupt), HasSubstr("rope_theta"));
  config["rope_theta"] = 1e6;
  EXPECT_EQ(Parsed(config).rope_base, 1e6);
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.0}};
  EXPECT_THAT(Refusal(config, reasons::kModelCorrupt), HasSubstr("contradict"));
  EXPECT_THAT(Refusal(With(Config("qwen2"), "rope_parameters",
                           {{"full_attention", {{"rope_theta", 1e6}}}})),
              HasSubstr("several kinds of layers"));
  EXPECT_THAT(Refusal(With(Config("qwen2"), "rope_parameters",
                           {{"rope_theta", 1e6}, {"partial_rotary_factor", 0.5}})),
              HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(Refusal(With(Config("qwen2"), "rope_parameters", {1, 2}), reasons::kModelCorrupt),
              HasSubstr("not an object"));
}

TEST(HfConfigTest, RefusesByNameWhatChangesResults) {
  const json llama = Config("llama");
  EXPECT_THAT(Refusal(With(llama, "partial_rotary_factor", 0.5)),
              HasSubstr("partial_rotary_factor"));
  EXPECT_EQ(Parsed(With(llama, "partial_rotary_factor", 1.0)).head_size, 16U);
  EXPECT_THAT(Refusal(With(llama, "final_logit_softcapping", 30.0)),
              HasSubstr("final_logit_softcapping"));
  EXPECT_EQ(Parsed(With(llama, "final_logit_softcapping", nullptr)).head_size, 16U);
  EXPECT_THAT(Refusal(With(llama, "quantization_config", {{"quant_method", "awq"}})),
              HasSubstr("quantization_config"));
  EXPECT_THAT(Refusal(With(Llada(), "input_emb_norm", true)), HasSubstr("input_emb_norm"));
  EXPECT_THAT(Refusal(With(Llada(), "rope", false)), HasSubstr("rope"));
  EXPECT_EQ(Parsed(With(Llada(), "rope", true)).rope_base, 5e5);
}

TEST(HfConfigTest, RefusesAContextThatTheEngineCannotRun) {
  EXPECT_THAT(Refusal(With(Config("llama"), "max_position_embeddings", 10485760)),
              HasSubstr("max_position_embeddings is 10485760, more than this build's limit of "
                        "1048576"));
}

TEST(HfConfigTest, AWindowCountsWhereEveryLayerHasIt) {
  json qwen = With(Config("qwen2"), "rope_theta", 1e6);
  qwen["sliding_window"] = 32;
  EXPECT_EQ(Parsed(qwen).sliding_window, 0U);  // not in use
  qwen["use_sliding_window"] = true;
  EXPECT_EQ(Parsed(qwen).sliding_window, 0U);  // only from layer 28 on
  EXPECT_EQ(Parsed(With(qwen, "max_window_layers", 2)).sliding_window, 0U);
  EXPECT_EQ(Parsed(With(qwen, "max_window_layers", 0)).sliding_window, 32U);
  EXPECT_THAT(Refusal(With(qwen, "max_window_layers", 1)), HasSubstr("max_window_layers"));
  const char* const full = "full_attention";
  const char* const sliding = "sliding_attention";
  EXPECT_EQ(Parsed(With(qwen, "layer_types", {full, full})).sliding_window, 0U);
  EXPECT_EQ(Parsed(With(qwen, "layer_types", {sliding, sliding})).sliding_window, 32U);
  EXPECT_THAT(Refusal(With(qwen, "layer_types", {full, sliding})), HasSubstr("layer_types"));
  EXPECT_THAT(Refusal(With(qwen, "layer_types", {full, "linear_attention"})),
              HasSubstr("linear_attention"));
  EXPECT_THAT(Refusal(With(qwen, "layer_types", json::array({full})), reasons::kModelCorrupt),
              HasSubstr("layer_types"));
  EXPECT_THAT(Refusal(With(Llada(), "sliding_window", 32)), HasSubstr("sliding_window"));
}

// Walking such a value would need a stack frame for each bracket.
TEST(HfJsonTest, BracketsWithoutEndAreRefused) {
  const std::string nested = std::string(200'000, '[') + std::string(200'000, ']');
  const auto file = [&](const std::string& key) { return "{\"" + key + "\": " + nested + "}"; };
  const auto deep = HasSubstr("nested deeper than 64");
  EXPECT_THAT(MessageOf(ParseHfConfig(file("clip_qkv")).status()), deep);
  EXPECT_THAT(MessageOf(ParseHfTokenizer(file("post_processor"), 8).status()), deep);
  EXPECT_THAT(MessageOf(ParseHfTokenizerConfig(file("chat_template")).status()), deep);
  EXPECT_THAT(MessageOf(ParseSafetensorsIndex(file("weight_map")).status()), deep);
  EXPECT_THAT(MessageOf(ParseHfConfig(std::string(400'000, '[')).status()), deep);
}

TEST(HfJsonTest, BracketsInStringsAreText) {
  const std::string brackets = std::string(100, '[') + "\\\"{{";
  EXPECT_TRUE(ParseHfTokenizerConfig("{\"a\": \"" + brackets + "\"}").ok());
}

}  // namespace
}  // namespace ruvd::inference
