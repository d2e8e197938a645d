// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/reader.h"
#include "inference/import/import.h"
#include "inference/tokenizer/tokenizer.h"
#include "tests/inference/hf_folder.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

using test::kHfMaskId;
using test::kHfMergeId;
using test::kHfVocabulary;
using test::SafetensorsBuilder;
using ::testing::HasSubstr;

const char* const kConfig = R"({"model_type": "Dream", "hidden_size": 32, "intermediate_size": 64,
  "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 288,
  "max_position_embeddings": 128, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
  "hidden_act": "silu", "tie_word_embeddings": true, "eos_token_id": 0, "mask_token_id": 257,
  "diffusion": {"shift_logits": true, "block_length": 16}})";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string Weights() {
  SafetensorsBuilder builder;
  builder.Add("model.embed_tokens.weight", {kHfVocabulary, 32});
  const std::string layer = "model.layers.0.";
  builder.Add(layer + "input_layernorm.weight", {32});
  builder.Add(layer + "self_attn.q_proj.weight", {32, 32});
  builder.Add(layer + "self_attn.k_proj.weight", {16, 32});
  builder.Add(layer + "self_attn.v_proj.weight", {16, 32});
  builder.Add(layer + "self_attn.o_proj.weight", {32, 32});
  builder.Add(layer + "post_attention_layernorm.weight", {32});
  builder.Add(layer + "mlp.gate_proj.weight", {64, 32});
  builder.Add(layer + "mlp.up_proj.weight", {64, 32});
  builder.Add(layer + "mlp.down_proj.weight", {32, 64});
  builder.Add("model.norm.weight", {32});
  return builder.Build();
}

class ImportModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              fmt::format("ruvd_import_{}",
                          ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    Put("config.json", kConfig);
    Put("tokenizer.json", test::HfTokenizerJson());
    Put("model.safetensors", Weights());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Put(const char* name, const std::string& contents) {
    ASSERT_TRUE(WriteFileAtomically((folder_ / name).string(), contents).ok());
  }
  std::string Out() const { return (folder_ / "out.gguf").string(); }
  absl::StatusOr<ImportResult> Import(const ImportOptions& options = {}) {
    return ImportModel(folder_.string(), options, Out());
  }
  // The import must fail, leave no file, and report the reason.
  std::string Refusal(const char* reason, const ImportOptions& options = {}) {
    const absl::Status status = Import(options).status();
    EXPECT_EQ(ReasonOf(status), reason) << status;
    EXPECT_FALSE(std::filesystem::exists(Out()));
    return MessageOf(status);
  }

  std::filesystem::path folder_;
};

TEST_F(ImportModelTest, WritesWhatLlamaCppReads) {
  const auto result = Import({.type = "q8_0", .name = "tiny"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->tensors, 11U);
  EXPECT_EQ(result->parameters, 288U * 32 + 3 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 64 * 32);
  const auto gguf = GgufReader::Open(Out()).value();
  EXPECT_EQ(gguf->GetString("general.architecture").value(), "dream");
  EXPECT_EQ(gguf->GetString("general.name").value(), "tiny");
  EXPECT_EQ(gguf->GetUnsigned("dream.block_count").value(), 1U);
  EXPECT_EQ(gguf->GetUnsigned("dream.context_length").value(), 128U);
  EXPECT_EQ(gguf->GetUnsigned("dream.embedding_length").value(), 32U);
  EXPECT_EQ(gguf->GetUnsigned("dream.feed_forward_length").value(), 64U);
  EXPECT_EQ(gguf->GetUnsigned("dream.attention.head_count").value(), 2U);
  EXPECT_EQ(gguf->GetUnsigned("dream.attention.head_count_kv").value(), 1U);
  EXPECT_FLOAT_EQ(
      static_cast<float>(gguf->GetFloat("dream.attention.layer_norm_rms_epsilon").value()), 1e-5F);
  EXPECT_EQ(gguf->GetFloat("dream.rope.freq_base").value(), 10000);
  EXPECT_TRUE(gguf->GetBool("diffusion.shift_logits").value());
  EXPECT_FALSE(gguf->GetBool("dream.attention.causal").value());
  EXPECT_EQ(gguf->GetUnsigned("ruvd.block_length").value(), 16U);
  EXPECT_EQ(gguf->Find("output.weight"), nullptr);  // tied
  EXPECT_EQ(gguf->Find("blk.0.attn_norm.weight")->type, TensorType::kF32);
  const TensorInfo* down = gguf->Find("blk.0.ffn_down.weight");
  ASSERT_NE(down, nullptr);
  EXPECT_EQ(down->type, TensorType::kQ8_0);
  EXPECT_EQ(down->shape[0], 64U);  // row length first
  EXPECT_EQ(down->shape[1], 32U);
  std::vector<float> values(down->values());
  ASSERT_TRUE(Dequantize(down->type, gguf->Data(*down), values).ok());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], static_cast<float>(i % 256) / 256, 0.005);
  }
}

TEST_F(ImportModelTest, TokenizerWorksAfterwards) {
  ASSERT_TRUE(Import().ok());
  const auto tokenizer = Tokenizer::FromGguf(*GgufReader::Open(Out()).value());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  EXPECT_THAT((*tokenizer)->Encode("ab<|mask|>", true),
              ::testing::ElementsAre(kHfMergeId, kHfMaskId));
  EXPECT_EQ((*tokenizer)->mask_id(), kHfMaskId);
  EXPECT_EQ((*tokenizer)->eos_id(), 0U);
  EXPECT_EQ((*tokenizer)->pad_id(), std::nullopt);
  EXPECT_TRUE((*tokenizer)->IsSpecial(258));  // an unused id
  EXPECT_EQ((*tokenizer)->size(), 288U);
}

TEST_F(ImportModelTest, F16AndF32KeepTheValues) {
  for (const char* type : {"f16", "f32", "bf16"}) {
    ASSERT_TRUE(Import({.type = type, .architecture = "qwen2"}).ok());
    const auto gguf = GgufReader::Open(Out()).value();
    EXPECT_EQ(gguf->GetUnsigned("qwen2.block_count").value(), 1U);
    EXPECT_FALSE(gguf->Has("qwen2.attention.causal"));
    const TensorInfo* q = gguf->Find("blk.0.attn_q.weight");
    std::vector<float> values(q->values());
    ASSERT_TRUE(Dequantize(q->type, gguf->Data(*q), values).ok());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], static_cast<float>(i % 256) / 256);
    }
  }
}

TEST_F(ImportModelTest, TokenizerConfigFillsWhatTheOthersLack) {
  Put("tokenizer_config.json", R"({"bos_token": {"content": "ab"}, "mask_token": "A",
    "pad_token": "not there", "add_bos_token": true,
    "chat_template": [{"name": "tools", "template": "T"}, {"name": "default", "template": "D"}]})");
  ASSERT_TRUE(Import().ok());
  auto gguf = GgufReader::Open(Out()).value();
  EXPECT_EQ(gguf->GetUnsigned("tokenizer.ggml.bos_token_id").value(), uint64_t{kHfMergeId});
  EXPECT_EQ(gguf->GetUnsigned("tokenizer.ggml.mask_token_id").value(), uint64_t{kHfMaskId});
  EXPECT_FALSE(gguf->Has("tokenizer.ggml.padding_token_id"));
  EXPECT_TRUE(gguf->GetBool("tokenizer.ggml.add_bos_token").value());
  EXPECT_EQ(gguf->GetString("tokenizer.chat_template").value(), "D");
  Put("tokenizer_config.json", R"({"chat_template": "plain", "bos_token": null})");
  ASSERT_TRUE(Import().ok());
  gguf = GgufReader::Open(Out()).value();
  EXPECT_EQ(gguf->GetString("tokenizer.chat_template").value(), "plain");
  EXPECT_FALSE(gguf->Has("tokenizer.ggml.bos_token_id"));
  std::filesystem::remove(Out());
  Put("tokenizer_config.json", "[]");
  EXPECT_THAT(Refusal(reasons::kModelCorrupt), HasSubstr("tokenizer_config.json"));
}

TEST_F(ImportModelTest, TheTemplateMayBeAFileOfItsOwn) {
  Put("tokenizer_config.json", R"({"chat_template": "of the configuration"})");
  Put("chat_template.jinja", "<|im_start|> <|im_end|>");
  ASSERT_TRUE(Import().ok());
  auto gguf = GgufReader::Open(Out()).value();
  EXPECT_EQ(gguf->GetString("tokenizer.chat_template").value(), "<|im_start|> <|im_end|>");
  EXPECT_FALSE(gguf->Has("tokenizer.ggml.eot_token_id"));  // no token has this spelling
  Put("tokenizer.json", Replaced(test::HfTokenizerJson(), "<|mask|>", "<|im_end|>"));
  ASSERT_TRUE(Import().ok());
  gguf = GgufReader::Open(Out()).value();
  EXPECT_EQ(gguf->GetUnsigned("tokenizer.ggml.eot_token_id").value(), uint64_t{kHfMaskId});
}

TEST_F(ImportModelTest, ATextOfLladaBeginsWithBos) {
  const std::string llada = Replaced(kConfig, "Dream", "llada");
  Put("config.json", llada);
  Put("tokenizer_config.json", R"({"add_bos_token": false})");
  ASSERT_TRUE(Import().ok());
  EXPECT_TRUE(GgufReader::Open(Out()).value()->GetBool("tokenizer.ggml.add_bos_token").value());
}

TEST_F(ImportModelTest, SameInputGivesTheSameFile) {
  ASSERT_TRUE(Import().ok());
  const std::string first = ReadFile(Out(), 1 << 20).value();
  ASSERT_TRUE(Import().ok());
  EXPECT_EQ(ReadFile(Out(), 1 << 20).value(), first);
}

TEST_F(ImportModelTest, RefusesBadOptions) {
  EXPECT_THAT(Refusal(reasons::kInvalidArgument, {.type = "q3"}), HasSubstr("\"q3\""));
  EXPECT_THAT(Refusal(reasons::kInvalidArgument, {.architecture = "gpt5"}), HasSubstr("gpt5"));
  // The architecture has norms of heads, which the source lacks.
  EXPECT_THAT(Refusal(reasons::kInvalidArgument, {.architecture = "qwen3"}), HasSubstr("qwen3"));
}

TEST_F(ImportModelTest, RefusesMissingFiles) {
  std::filesystem::remove(folder_ / "model.safetensors");
  EXPECT_THAT(Refusal(reasons::kFileNotFound), HasSubstr("model.safetensors"));
}

TEST_F(ImportModelTest, RefusesBadConfigurations) {
  const auto with = [&](const char* from, const char* to, const char* reason) {
    Put("config.json", Replaced(kConfig, from, to));
    return Refusal(reason);
  };
  EXPECT_THAT(with("Dream", "mamba", reasons::kModelUnsupported), HasSubstr("mamba"));
  EXPECT_THAT(with("silu", "gelu", reasons::kModelUnsupported), HasSubstr("gelu"));
  EXPECT_THAT(with("\"hidden_size\": 32", "\"hidden_size\": -3", reasons::kModelCorrupt),
              HasSubstr("hidden_size"));
  EXPECT_THAT(
      with("\"num_key_value_heads\": 1", "\"num_key_value_heads\": 3", reasons::kModelCorrupt),
      HasSubstr("num_key_value_heads"));
  EXPECT_THAT(with("1e-5", "\"tiny\"", reasons::kModelCorrupt), HasSubstr("rms_norm_eps"));
  EXPECT_THAT(with("\"mask_token_id\": 257", "\"mask_token_id\": 288", reasons::kModelCorrupt),
              HasSubstr("288"));
  EXPECT_THAT(with("\"block_length\": 16", "\"block_length\": 999", reasons::kModelCorrupt),
              HasSubstr("999"));
  EXPECT_THAT(with("{", "[", reasons::kModelCorrupt), HasSubstr("not a JSON object"));
  EXPECT_THAT(with("\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2", reasons::kModelCorrupt),
              HasSubstr("model.layers.1.input_layernorm.weight is missing"));
  EXPECT_THAT(
      with("\"intermediate_size\": 64", "\"intermediate_size\": 96", reasons::kModelCorrupt),
      HasSubstr("has the shape [64, 32], but config.json requires [96, 32]"));
  EXPECT_THAT(with("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false",
                   reasons::kModelCorrupt),
              HasSubstr("lm_head.weight is missing"));
}

TEST_F(ImportModelTest, RefusesBadTokenizers) {
  const auto with = [&](const char* from, const char* to) {
    Put("tokenizer.json", Replaced(test::HfTokenizerJson(), from, to));
    return Refusal(reasons::kTokenizerInvalid);
  };
  EXPECT_THAT(with("\"BPE\"", "\"Unigram\""), HasSubstr("\"Unigram\" is not BPE"));
  EXPECT_THAT(with("\\\\p{N}|", "\\\\p{N}{2,3}|"), HasSubstr("pre-tokeniser"));
  EXPECT_THAT(with("\"ab\": 256", "\"ab\": 288"), HasSubstr("288"));
  EXPECT_THAT(with("\"ab\": 256", "\"ab\": 255"), HasSubstr("given twice"));
  EXPECT_THAT(with("\"ab\": 256", "\"ab\": -1"), HasSubstr("not an integer"));
  EXPECT_THAT(with("[\"a b\"]", "[7]"), HasSubstr("merge 0"));
}

TEST_F(ImportModelTest, RefusesBadWeights) {
  const auto with = [&](const char* from, const char* to, const char* reason) {
    std::string file = Weights();
    Put("model.safetensors", Replaced(file, from, to));
    return Refusal(reason);
  };
  EXPECT_THAT(with("\"F16\"", "\"I16\"", reasons::kModelUnsupported), HasSubstr("I16"));
  EXPECT_THAT(with("[288,32]", "[288,31]", reasons::kModelCorrupt), HasSubstr("bytes but has"));
  EXPECT_THAT(with("[288,32]", "[0000,0]", reasons::kModelCorrupt), HasSubstr("JSON"));
  EXPECT_THAT(with("[0,18432]", "[2,99999]", reasons::kModelCorrupt), HasSubstr("outside"));
  EXPECT_THAT(with("[18432,18496]", "[18430,18494]", reasons::kModelCorrupt), HasSubstr("overlap"));
  EXPECT_THAT(with("model.norm.weight", "model.morn.weight", reasons::kModelCorrupt),
              HasSubstr("model.norm.weight is missing"));
  Put("model.safetensors", Weights().substr(0, 300));
  EXPECT_THAT(Refusal(reasons::kModelCorrupt), HasSubstr("truncated"));
  Put("model.safetensors", ByteWriter().Write<uint64_t>(uint64_t{1} << 60).Take());
  EXPECT_THAT(Refusal(reasons::kModelCorrupt), HasSubstr("header length"));
  Put("model.safetensors", "");
  EXPECT_THAT(Refusal(reasons::kModelCorrupt), HasSubstr("header length"));
}

// Refuses overflow, strange shapes and foreign tensors by the header alone.
TEST_F(ImportModelTest, RefusesStrangeHeaders) {
  const auto with = [&](const std::string& header, const char* reason) {
    Put("model.safetensors",
        ByteWriter().Write<uint64_t>(header.size()).WriteText(header).WriteText("data").Take());
    return Refusal(reason);
  };
  EXPECT_THAT(with(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})",
                   reasons::kModelCorrupt),
              HasSubstr("overflows"));
  EXPECT_THAT(
      with(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", reasons::kModelCorrupt),
      HasSubstr("shape"));
  EXPECT_THAT(
      with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", reasons::kModelCorrupt),
      HasSubstr("outside"));
  EXPECT_THAT(with(R"({"a":7})", reasons::kModelUnsupported), HasSubstr("type \"\""));
  EXPECT_THAT(
      with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", reasons::kModelCorrupt),
      HasSubstr("model.embed_tokens.weight is missing"));
}

// The shipped files are equal to what the importer makes of the sources in ../shared.
TEST(ShippedModelTest, IsTheImportOfItsSource) {
  const std::filesystem::path root(test::SourceDir());
  const auto source = root / "../shared/models/ruvdllm-5m";
  if (!std::filesystem::exists(source)) {
    GTEST_SKIP() << source << " is absent";
  }
  const std::string out =
      (std::filesystem::path(::testing::TempDir()) / "ruvd_shipped_5m.gguf").string();
  ASSERT_TRUE(ImportModel(source.string(), {}, out).ok());
  const bool same =
      ReadFile(out, 1 << 30).value() ==
      ReadFile((root / "deploy/models/ruvdllm-5m.q8_0.gguf").string(), 1 << 30).value();
  std::filesystem::remove(out);
  EXPECT_TRUE(same) << "run the importer again as deploy/models/README.md says";
}

}  // namespace
}  // namespace ruvd::inference
