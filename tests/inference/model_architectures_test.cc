// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/model_file.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::inference {
namespace {

using test::FileContents;
using ::testing::HasSubstr;

class ModelArchitecturesTest : public ::testing::Test {
 protected:
  ModelArchitecturesTest()
      : path_(std::filesystem::temp_directory_path() /
              ("ruvd_model_architectures_" + std::to_string(getpid()) + ".gguf")) {}
  ~ModelArchitecturesTest() override { std::filesystem::remove(path_); }

  absl::StatusOr<std::shared_ptr<const Model>> Load(const FileContents& contents) {
    EXPECT_TRUE(WriteFileAtomically(path_, contents.Serialize()).ok());
    return Model::Load(path_);
  }
  ModelConfig ConfigOf(const FileContents& contents) {
    const auto model = Load(contents);
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? (*model)->config() : ModelConfig();
  }
  void ExpectUnsupported(const FileContents& contents, const std::string& words) {
    const absl::Status status = Load(contents).status();
    EXPECT_EQ(ReasonOf(status), reasons::kModelUnsupported) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr(words));
  }
  void ExpectCorrupt(const FileContents& contents, const std::string& words) {
    const absl::Status status = Load(contents).status();
    EXPECT_EQ(ReasonOf(status), reasons::kModelCorrupt) << status;
    EXPECT_THAT(MessageOf(status), HasSubstr(words));
  }

  const std::string path_;
};

FileContents Of(const std::string& architecture) {
  FileContents contents;
  contents.architecture = architecture;
  return contents;
}

FileContents Qwen3() {
  FileContents contents = Of("qwen3");
  contents.tensors["blk.0.attn_q_norm.weight"] = {.shape = {8}, .seed = 60};
  contents.tensors["blk.0.attn_k_norm.weight"] = {.shape = {8}, .seed = 61};
  return contents;
}

TEST_F(ModelArchitecturesTest, NamesDecideWhatFilesDoNotSay) {
  struct Expected {
    FileContents contents;
    bool adjacent, causal, shifted;
  };
  for (const auto& [contents, adjacent, causal, shifted] :
       {Expected{Of("dream"), false, false, true}, Expected{Of("llada"), true, false, false},
        Expected{Of("llama"), true, true, true}, Expected{Of("qwen2"), false, true, true},
        Expected{Qwen3(), false, true, true}}) {
    const ModelConfig config = ConfigOf(contents);
    EXPECT_EQ(config.rope_adjacent, adjacent) << contents.architecture;
    EXPECT_EQ(config.causal, causal) << contents.architecture;
    EXPECT_EQ(config.shift_logits, shifted) << contents.architecture;
    EXPECT_EQ(config.rope_dimensions, 8);
    EXPECT_EQ(config.rope_scaling, RopeScaling());
  }
}

TEST_F(ModelArchitecturesTest, CausalAndShiftFollowTheKeysThatCount) {
  FileContents llada = Of("llada");
  llada.flags["diffusion.shift_logits"] = true;
  EXPECT_TRUE(ConfigOf(llada).shift_logits);
  FileContents dream = Of("dream");
  dream.flags["dream.attention.causal"] = true;
  EXPECT_FALSE(ConfigOf(dream).causal) << "a diffusion model sees both directions";
  FileContents encoder = Of("llama");
  encoder.flags["llama.attention.causal"] = false;
  EXPECT_FALSE(ConfigOf(encoder).causal);
}

TEST_F(ModelArchitecturesTest, TakesHeadNormsOfQwen3Only) {
  const auto model = Load(Qwen3()).value();
  EXPECT_EQ(model->layer(0).q_norm.size(), 8U);
  EXPECT_EQ(model->layer(0).k_norm.size(), 8U);
  ExpectCorrupt(Of("qwen3"), "tensor blk.0.attn_q_norm.weight is missing");
  FileContents llama = Qwen3();
  llama.architecture = "llama";
  ExpectUnsupported(llama, "tensor blk.0.attn_");
}

// One fused tensor with the rows of all three gives the logits that three tensors give.
TEST_F(ModelArchitecturesTest, SplitsFusedQueriesKeysAndValues) {
  const std::vector<TokenId> tokens = {0, 1, 3, 2, 2};
  const auto hidden = [&](const FileContents& contents) {
    const auto model = Load(contents);
    EXPECT_TRUE(model.ok()) << model.status();
    CpuTransformer transformer(*model, SerialRunner());
    ForwardOutput output;
    EXPECT_TRUE(transformer.Forward({.tokens = tokens}, &output).ok());
    return output.hidden;
  };
  // A tensor's values are one stream from its seed, so the test cuts the parts from the whole
  // itself.
  FileContents fused;
  for (const char* part : {"q", "k", "v"}) {
    fused.tensors.erase(std::string("blk.0.attn_") + part + ".weight");
  }
  fused.tensors["blk.0.attn_qkv.weight"] = {.shape = {32, 64}, .seed = 70};
  fused.tensors["blk.0.attn_qkv.bias"] = {.shape = {64}, .seed = 71};
  FileContents split;
  const std::vector<float> weights = test::RandomValues(32 * 64, 70);
  const std::vector<float> biases = test::RandomValues(64, 71);
  const auto cut = [](const std::vector<float>& all, size_t begin, size_t count) {
    return std::vector<float>(all.begin() + static_cast<ptrdiff_t>(begin),
                              all.begin() + static_cast<ptrdiff_t>(begin + count));
  };
  const auto add = [&](const std::string& part, size_t begin, size_t rows) {
    split.tensors["blk.0.attn_" + part + ".weight"] = {
        .shape = {32, rows}, .values = cut(weights, begin * 32, rows * 32)};
    split.tensors["blk.0.attn_" + part + ".bias"] = {.shape = {rows},
                                                     .values = cut(biases, begin, rows)};
  };
  add("q", 0, 32);
  add("k", 32, 16);
  add("v", 48, 16);
  EXPECT_EQ(hidden(fused), hidden(split));
  fused.tensors["blk.0.attn_qkv.weight"].shape = {32, 65};
  ExpectCorrupt(fused, "blk.0.attn_qkv.weight has shape 32 x 65");
}

TEST_F(ModelArchitecturesTest, ReadsRopeScalingByEveryKey) {
  FileContents yarn = Of("llama");
  yarn.texts["rope.scaling.type"] = "yarn";
  yarn.floats["rope.scaling.factor"] = 4.0F;
  yarn.floats["rope.scaling.attn_factor"] = 1.25F;
  yarn.numbers["rope.scaling.original_context_length"] = 12;
  const RopeScaling expected{
      .kind = RopeScaling::Kind::kYarn, .factor = 4, .original_context = 12, .attn_factor = 1.25F};
  EXPECT_EQ(ConfigOf(yarn).rope_scaling, expected);
  yarn.floats["rope.scaling.yarn_beta_fast"] = 16;
  yarn.floats["rope.scaling.yarn_beta_slow"] = 2;
  EXPECT_EQ(ConfigOf(yarn).rope_scaling.beta_fast, 16);
  EXPECT_EQ(ConfigOf(yarn).rope_scaling.beta_slow, 2);
  const RopeScaling linear{.kind = RopeScaling::Kind::kLinear, .factor = 2};
  FileContents untyped = Of("llama");
  untyped.floats["rope.scaling.factor"] = 2.0F;
  EXPECT_EQ(ConfigOf(untyped).rope_scaling, linear);
  FileContents old = Of("llama");
  old.floats["rope.scale_linear"] = 2.0F;
  EXPECT_EQ(ConfigOf(old).rope_scaling, linear);
  FileContents none = untyped;
  none.texts["rope.scaling.type"] = "none";
  EXPECT_EQ(ConfigOf(none).rope_scaling, RopeScaling());
  untyped.floats["rope.scaling.factor"] = -2.0F;
  ExpectCorrupt(untyped, "llama.rope.scaling.factor is -2");
}

TEST_F(ModelArchitecturesTest, ReadsTheDivisorsOfLlama3) {
  FileContents contents = Of("llama");
  contents.tensors["rope_freqs.weight"] = {.shape = {4}, .values = {1, 1, 4, 8}};
  EXPECT_EQ(ConfigOf(contents).rope_divisors, (std::vector<float>{1, 1, 4, 8}));
  contents.tensors["rope_freqs.weight"].values[2] = 0;
  ExpectCorrupt(contents, "rope_freqs.weight holds 0");
  contents.tensors["rope_freqs.weight"] = {.shape = {3}, .values = {1, 1, 4}};
  ExpectCorrupt(contents, "rope_freqs.weight must have 4 values");
  FileContents dream = Of("dream");
  dream.tensors["rope_freqs.weight"] = {.shape = {4}, .values = {1, 1, 4, 8}};
  ExpectUnsupported(dream, "tensor rope_freqs.weight");
}

// These are exactly the tensors that llama.cpp loads and never uses.
TEST_F(ModelArchitecturesTest, IgnoresWhatLladaAndDreamCarryForNothing) {
  FileContents llada = Of("llada");
  llada.tensors["rope_freqs.weight"] = {.shape = {4}, .values = {1, 1, 4, 8}};
  llada.tensors["blk.0.attn_output.bias"] = {.shape = {32}};
  llada.tensors["blk.0.ffn_gate.bias"] = {.shape = {64}};
  llada.tensors["blk.0.ffn_up.bias"] = {.shape = {64}};
  llada.tensors["blk.0.ffn_down.bias"] = {.shape = {32}};
  EXPECT_TRUE(ConfigOf(llada).rope_divisors.empty());
  FileContents beyond = llada;
  beyond.tensors["blk.1.ffn_down.bias"] = {.shape = {32}};
  ExpectUnsupported(beyond, "tensor blk.1.ffn_down.bias");
  for (const char* architecture : {"dream", "llama", "qwen2"}) {
    FileContents other = Of(architecture);
    other.tensors["blk.0.ffn_up.bias"] = {.shape = {64}};
    ExpectUnsupported(other, "tensor blk.0.ffn_up.bias");
  }
  FileContents qwen = Of("qwen2");
  qwen.tensors["output.bias"] = {.shape = {4}};
  ExpectUnsupported(qwen, "tensor output.bias");
}

TEST_F(ModelArchitecturesTest, ReadsSlidingWindows) {
  FileContents contents = Of("llama");
  contents.numbers["attention.sliding_window"] = 16;
  EXPECT_EQ(ConfigOf(contents).sliding_window, 16);
  contents.numbers["attention.sliding_window"] = 48;
  EXPECT_EQ(ConfigOf(contents).sliding_window, 0) << "as long as the context";
  contents.architecture = "dream";
  contents.numbers["attention.sliding_window"] = 16;
  ExpectUnsupported(contents, "dream.attention.sliding_window");
}

TEST_F(ModelArchitecturesTest, RefusesKeysByName) {
  for (const char* key : {"expert_count", "attention.max_alibi_bias", "attn_logit_softcapping",
                          "final_logit_softcapping"}) {
    FileContents contents = Of("llama");
    contents.numbers[key] = 0;
    EXPECT_TRUE(Load(contents).ok()) << key;
    contents.numbers[key] = 8;
    ExpectUnsupported(contents, "key llama." + std::string(key));
  }
  FileContents scaled = Of("llama");
  scaled.floats["logit_scale"] = 0.5F;
  ExpectUnsupported(scaled, "key llama.logit_scale");
  FileContents pattern = Of("qwen2");
  pattern.numbers["attention.sliding_window_pattern"] = 4;
  ExpectUnsupported(pattern, "key qwen2.attention.sliding_window_pattern");
  FileContents partial = Of("llama");
  partial.numbers["rope.dimension_count"] = 4;
  ExpectUnsupported(partial, "llama.rope.dimension_count is 4");
  partial.architecture = "qwen2";
  EXPECT_EQ(ConfigOf(partial).rope_dimensions, 4);
  partial.numbers["rope.dimension_count"] = 10;
  ExpectCorrupt(partial, "qwen2.rope.dimension_count is 10");
  for (const char* name : {"llada-moe", "rnd1", "qwen3moe", "gemma"}) {
    ExpectUnsupported(Of(name), "architecture is \"" + std::string(name) +
                                    "\"; this build supports dream, llada, llama, qwen2, qwen3");
  }
}

TEST_F(ModelArchitecturesTest, HashFollowsEveryKeyThatCounts) {
  const Digest base = Load(Of("llama")).value()->hash();
  FileContents window = Of("llama");
  window.numbers["attention.sliding_window"] = 16;
  EXPECT_NE(Load(window).value()->hash(), base);
  FileContents scaling = Of("llama");
  scaling.floats["rope.scaling.factor"] = 2.0F;
  EXPECT_NE(Load(scaling).value()->hash(), base);
  FileContents encoder = Of("llama");
  encoder.flags["llama.attention.causal"] = false;
  EXPECT_NE(Load(encoder).value()->hash(), base);
  FileContents spelled = Of("llama");
  spelled.numbers["rope.dimension_count"] = 8;
  spelled.texts["rope.scaling.type"] = "none";
  EXPECT_EQ(Load(spelled).value()->hash(), base) << "defaults spelled out";
}

}  // namespace
}  // namespace ruvd::inference
