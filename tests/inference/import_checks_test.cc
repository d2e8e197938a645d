// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "tests/inference/import_network.h"

namespace ruvd::inference {
namespace {

using test::LladaConfig;
using test::Named;
using test::SourceTensors;
using test::TransformersConfig;
using ::testing::AllOf;
using ::testing::HasSubstr;

using ImportChecksTest = test::ImportNetworkTest;

TEST_F(ImportChecksTest, RefusesBrokenIndexes) {
  Put("config.json", LladaConfig());
  PutWeights({.llada_names = true}, 3);
  const auto with = [&](const std::string& index, const char* reason) {
    Put("model.safetensors.index.json", index);
    return Refusal(reason);
  };
  EXPECT_THAT(with("[]", reasons::kModelCorrupt), HasSubstr("not a JSON object"));
  EXPECT_THAT(with("{}", reasons::kModelCorrupt), HasSubstr("weight_map"));
  EXPECT_THAT(with(R"({"weight_map": {"a": 7}})", reasons::kModelCorrupt),
              HasSubstr("tensor a has no usable file name"));
  EXPECT_THAT(with(R"({"weight_map": {"a": "../part-0.safetensors"}})", reasons::kModelCorrupt),
              HasSubstr("tensor a has no usable file name"));
  EXPECT_THAT(with(R"({"weight_map": {"a": "part-9.safetensors"}})", reasons::kFileNotFound),
              HasSubstr("part-9.safetensors"));
  EXPECT_THAT(with(R"({"weight_map": {"a": "part-0.safetensors"}})", reasons::kModelCorrupt),
              HasSubstr("tensor a is not in part-0.safetensors"));
  std::filesystem::copy_file(folder_ / "part-0.safetensors", folder_ / "part-9.safetensors");
  EXPECT_THAT(with(R"({"weight_map": {"model.transformer.wte.weight": "part-0.safetensors",
                       "b": "part-9.safetensors"}})",
                   reasons::kModelCorrupt),
              HasSubstr("in another file"));
}

TEST_F(ImportChecksTest, RefusesOtherNetworks) {
  PutWeights({});
  const auto with = [&](const std::string& more, const char* reason) {
    Put("config.json", TransformersConfig("llama", more));
    return Refusal(reason);
  };
  EXPECT_THAT(with(R"(, "mlp_bias": true)", reasons::kModelUnsupported), HasSubstr("mlp_bias"));
  EXPECT_THAT(
      with(R"(, "rope_scaling": {"type": "dynamic", "factor": 2.0})", reasons::kModelUnsupported),
      HasSubstr("dynamic"));
  EXPECT_THAT(with(R"(, "rope_scaling": {"type": "yarn", "factor": 2.0, "mscale": 1.0})",
                   reasons::kModelUnsupported),
              HasSubstr("mscale"));
  EXPECT_THAT(with(R"(, "rope_scaling": {"type": "linear"})", reasons::kModelCorrupt),
              HasSubstr("factor"));
  Put("config.json", LladaConfig(R"(, "scale_logits": true)"));
  EXPECT_THAT(Refusal(reasons::kModelUnsupported), HasSubstr("scale_logits"));
  Put("config.json", TransformersConfig("mamba"));
  EXPECT_THAT(Refusal(reasons::kModelUnsupported), AllOf(HasSubstr("mamba"), HasSubstr("llada")));
}

TEST_F(ImportChecksTest, ATiedHeadMayBeThereTwice) {
  Put("config.json", TransformersConfig("llama", R"(, "tie_word_embeddings": true)"));
  PutWeights({});  // another matrix: it counts
  EXPECT_NE(Import().value()->Find("output.weight"), nullptr);
  test::SafetensorsBuilder same;
  for (const Named& tensor : SourceTensors({})) {
    same.Add(tensor.from, tensor.shape);  // values depend on the position only
  }
  Put("model.safetensors", same.Build());
  EXPECT_EQ(Import().value()->Find("output.weight"), nullptr);
}

TEST_F(ImportChecksTest, FormatsFollowTheScheme) {
  Put("config.json", TransformersConfig("llama"));
  PutWeights({});
  const auto file = Import(ImportOptions{.type = "q4_k_m"}).value();
  EXPECT_EQ(file->GetUnsigned("general.file_type").value(), 15U);
  EXPECT_EQ(file->Find("blk.0.attn_q.weight")->type, TensorType::kF16);  // rows of 24 fit no format
  EXPECT_EQ(Import(ImportOptions{.type = "bf16"}).value()->Find("blk.0.attn_q.weight")->type,
            TensorType::kBF16);
}

TEST_F(ImportChecksTest, NamesTheTensorWithAValueThatIsNotFinite) {
  Put("config.json", TransformersConfig("llama"));
  test::SafetensorsBuilder weights;
  for (const Named& tensor : SourceTensors({})) {
    const int count = tensor.shape[0] * (tensor.shape.size() > 1 ? tensor.shape[1] : 1);
    std::vector<float> values(static_cast<size_t>(count), 0.5F);
    if (tensor.to == "blk.1.attn_k.weight") {
      values[3] = NAN;
    }
    weights.Add(tensor.from, tensor.shape, values);
  }
  Put("model.safetensors", weights.Build());
  EXPECT_THAT(Refusal(reasons::kInvalidArgument),
              AllOf(HasSubstr("blk.1.attn_k.weight"), HasSubstr("not finite")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.gguf"));
}

}  // namespace
}  // namespace ruvd::inference
