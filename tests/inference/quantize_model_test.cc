// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/gguf/quantize_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/gguf/file_stream.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/writer.h"
#include "inference/model/model.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;

std::vector<float> RandomWeights(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(random.Normal() * 0.05);
  }
  return values;
}

// A dream model of four layers that Model::Load accepts; ffn_down has rows of 288 values, which the
// block size of the K formats does not divide. Tests change the source's formats and values.
struct Source {
  TensorType matrices = TensorType::kF16;
  TensorType vectors = TensorType::kF32;
  bool tied = true;
  bool with_type = true;  // general.file_type and others that the quantiser replaces
  float spoilt = 0;       // if not zero: a value of blk.2.attn_k.weight

  std::string Serialize() const {
    GgufWriter writer;
    writer.SetString("general.architecture", "dream");
    writer.SetString("general.name", "source");
    if (with_type) {
      writer.SetUnsigned32("general.file_type", 1);
      writer.SetUnsigned32("general.alignment", 32);
    }
    for (const auto& [key, value] : std::map<std::string, uint32_t>{{"block_count", 4},
                                                                    {"embedding_length", 256},
                                                                    {"context_length", 48},
                                                                    {"feed_forward_length", 288},
                                                                    {"attention.head_count", 4},
                                                                    {"attention.head_count_kv", 2},
                                                                    {"vocab_size", 4}}) {
      writer.SetUnsigned32("dream." + key, value);
    }
    writer.SetFloat32("dream.attention.layer_norm_rms_epsilon", 1e-5F);
    writer.SetString("tokenizer.ggml.model", "gpt2");
    writer.SetString("tokenizer.ggml.pre", "qwen2");
    writer.SetStringArray("tokenizer.ggml.tokens",
                          std::vector<std::string>{"a", "b", "<|end|>", "<|mask|>"});
    writer.SetInt32Array("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 3, 3});
    writer.SetStringArray("tokenizer.ggml.merges", {});
    writer.SetUnsigned32("tokenizer.ggml.mask_token_id", 3);
    uint64_t seed = 1;
    const auto add = [&](const std::string& name, const std::vector<uint64_t>& shape) {
      const TensorType type = shape.size() == 1 ? vectors : matrices;
      auto values = RandomWeights(shape[0] * (shape.size() == 1 ? 1 : shape[1]), seed++);
      if (name == "blk.2.attn_k.weight" && spoilt != 0) {
        values[300] = spoilt;
      }
      writer.AddTensor(name, type, shape,
                       type == TensorType::kF32 ? Raw(values) : Quantize(type, values).value());
    };
    add("token_embd.weight", {256, 4});
    add("output_norm.weight", {256});
    if (!tied) {
      add("output.weight", {256, 4});
    }
    for (int i = 0; i < 4; ++i) {
      const std::string blk = fmt::format("blk.{}.", i);
      add(blk + "attn_norm.weight", {256});
      add(blk + "attn_q.weight", {256, 256});
      add(blk + "attn_k.weight", {256, 128});
      add(blk + "attn_v.weight", {256, 128});
      add(blk + "attn_v.bias", {128});
      add(blk + "attn_output.weight", {256, 256});
      add(blk + "ffn_norm.weight", {256});
      add(blk + "ffn_gate.weight", {256, 288});
      add(blk + "ffn_up.weight", {256, 288});
      add(blk + "ffn_down.weight", {288, 256});
    }
    return writer.Serialize().value();
  }

 private:
  static std::string Raw(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
  }
};

QuantizeModelOptions OptionsFor(std::string_view scheme) {
  QuantizeModelOptions options;
  options.scheme = ParseQuantizationScheme(scheme).value();
  return options;
}

class QuantizeModelTest : public testing::Test {
 protected:
  QuantizeModelTest() {
    folder_ = std::filesystem::path(testing::TempDir()) /
              fmt::format("ruvd_quantize_{}",
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~QuantizeModelTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  absl::StatusOr<std::unique_ptr<GgufReader>> Quantized(const Source& source,
                                                        const QuantizeModelOptions& options,
                                                        int threads = 1) {
    bytes_ = source.Serialize();
    ASSIGN_OR_RETURN(reader_, GgufReader::Parse(AsBytes(bytes_)));
    ASSIGN_OR_RETURN(plan_, PlanQuantization(*reader_, options));
    ThreadParallelRunner runner(threads);
    ASSIGN_OR_RETURN(file_bytes_, QuantizeModel(*reader_, options, &plan_, Path("out.gguf"), runner,
                                                [](uint64_t, uint64_t) {}));
    return GgufReader::Open(Path("out.gguf"));
  }
  std::string Refusal(const Source& source, const QuantizeModelOptions& options) {
    const auto status = Quantized(source, options).status();
    EXPECT_EQ(ReasonOf(status), reasons::kInvalidArgument) << status;
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    return MessageOf(status);
  }

  std::filesystem::path folder_;
  std::string bytes_;
  std::unique_ptr<GgufReader> reader_;
  std::vector<TensorPlan> plan_;
  uint64_t file_bytes_ = 0;
};

TEST_F(QuantizeModelTest, EverySchemeGivesAModelThatLoads) {
  for (const char* scheme : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k",
                             "q4_k_s", "q4_k_m", "q5_k", "q5_k_s", "q5_k_m", "q6_k"}) {
    const auto file = Quantized({}, OptionsFor(scheme));
    ASSERT_TRUE(file.ok()) << scheme << ": " << file.status();
    EXPECT_EQ(std::filesystem::file_size(Path("out.gguf")), file_bytes_);
    EXPECT_EQ((*file)->tensors().size(), reader_->tensors().size());
    const auto model = Model::Load(Path("out.gguf"));
    EXPECT_TRUE(model.ok()) << scheme << ": " << model.status();
  }
}

TEST_F(QuantizeModelTest, TensorsHoldTheQuantisedValuesOfTheSource) {
  const auto file = Quantized({.matrices = TensorType::kBF16}, OptionsFor("q4_k_m")).value();
  for (const TensorInfo& from : reader_->tensors()) {
    const TensorInfo* to = file->Find(from.name);
    ASSERT_NE(to, nullptr);
    EXPECT_EQ(to->shape, from.shape);
    std::vector<float> values(from.values());
    ASSERT_TRUE(Dequantize(from.type, reader_->Data(from), values).ok());
    EXPECT_EQ(AsText(file->Data(*to)), Quantize(to->type, values).value()) << from.name;
  }
}

TEST_F(QuantizeModelTest, CopiesTheMetadataAndReplacesWhatChanged) {
  const auto file = Quantized({}, OptionsFor("q4_k_m")).value();
  EXPECT_EQ(file->GetUnsigned("general.file_type").value(), 15U);
  EXPECT_EQ(file->GetUnsigned("general.quantization_version").value(), 2U);
  EXPECT_FALSE(file->Has("general.alignment"));
  for (const std::string& key : reader_->Keys()) {
    if (key == "general.file_type" || key == "general.alignment") {
      continue;
    }
    ASSERT_TRUE(file->Has(key)) << key;
    EXPECT_EQ(AsText(file->RawValue(key)->bytes), AsText(reader_->RawValue(key)->bytes)) << key;
    EXPECT_EQ(file->RawValue(key)->type, reader_->RawValue(key)->type) << key;
    EXPECT_EQ(file->RawValue(key)->is_array, reader_->RawValue(key)->is_array) << key;
  }
}

TEST_F(QuantizeModelTest, NormsAndBiasesBecomeF32) {
  const auto file = Quantized({.vectors = TensorType::kF16}, OptionsFor("q8_0")).value();
  for (const char* name : {"output_norm.weight", "blk.1.attn_norm.weight", "blk.3.attn_v.bias"}) {
    EXPECT_EQ(file->Find(name)->type, TensorType::kF32) << name;
  }
}

TEST_F(QuantizeModelTest, RowsThatDoNotFitFallBackAndSaySo) {
  const auto file = Quantized({}, OptionsFor("q4_k")).value();
  EXPECT_EQ(file->Find("blk.0.ffn_down.weight")->type, TensorType::kQ5_0);
  EXPECT_EQ(file->Find("blk.0.ffn_up.weight")->type, TensorType::kQ4_K);
  for (const TensorPlan& tensor : plan_) {
    const bool down = tensor.source->name.ends_with("ffn_down.weight");
    EXPECT_EQ(tensor.instead_of, down ? std::optional(TensorType::kQ4_K) : std::nullopt);
  }
}

TEST_F(QuantizeModelTest, ReportsTheErrorOfEachTensor) {
  ASSERT_TRUE(Quantized({.matrices = TensorType::kF32}, OptionsFor("q8_0")).ok());
  for (const TensorPlan& tensor : plan_) {
    std::vector<float> values(tensor.source->values());
    ASSERT_TRUE(Dequantize(TensorType::kF32, reader_->Data(*tensor.source), values).ok());
    std::vector<float> back(values.size());
    const std::string bytes = Quantize(tensor.type, values).value();
    ASSERT_TRUE(Dequantize(tensor.type, AsBytes(bytes), back).ok());
    double squares = 0;
    double errors = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      squares += double{values[i]} * values[i];
      errors += (double{back[i]} - values[i]) * (double{back[i]} - values[i]);
    }
    EXPECT_NEAR(tensor.error.RelativeRms(), std::sqrt(errors / squares), 1e-6)
        << tensor.source->name;
  }
}

TEST_F(QuantizeModelTest, OutputAndEmbeddingFollowTheirRules) {
  const auto types = [&](const Source& source, const QuantizeModelOptions& options) {
    const auto file = Quantized(source, options).value();
    const TensorInfo* output = file->Find("output.weight");
    return std::pair(file->Find("token_embd.weight")->type,
                     output == nullptr ? TensorType::kF32 : output->type);
  };
  QuantizeModelOptions options = OptionsFor("q4_0");
  EXPECT_EQ(types({}, options).first, TensorType::kQ6_K);  // tied: it is the output matrix
  EXPECT_EQ(types({.tied = false}, options), std::pair(TensorType::kQ4_0, TensorType::kQ6_K));
  options.output_type = TensorType::kQ8_0;
  EXPECT_EQ(types({}, options).first, TensorType::kQ8_0);
  EXPECT_EQ(types({.tied = false}, options), std::pair(TensorType::kQ4_0, TensorType::kQ8_0));
  options.embedding_type = TensorType::kF16;
  EXPECT_EQ(types({}, options).first, TensorType::kF16);
  EXPECT_EQ(types({.tied = false}, options), std::pair(TensorType::kF16, TensorType::kQ8_0));
}

TEST_F(QuantizeModelTest, KeepLeavesTensorsAlone) {
  QuantizeModelOptions options = OptionsFor("q4_0");
  options.keep = {"blk.*.attn_q.weight", "token_embd.weight"};
  const auto file = Quantized({}, options).value();
  for (const TensorInfo& tensor : file->tensors()) {
    const bool kept = tensor.name.ends_with("attn_q.weight") || tensor.name == "token_embd.weight";
    if (kept) {
      EXPECT_EQ(tensor.type, TensorType::kF16) << tensor.name;
      EXPECT_EQ(AsText(file->Data(tensor)), AsText(reader_->Data(*reader_->Find(tensor.name))));
    }
  }
  EXPECT_EQ(file->Find("blk.0.attn_k.weight")->type, TensorType::kQ4_0);
  options.keep = {"blk.*.typo"};
  std::filesystem::remove(Path("out.gguf"));
  EXPECT_THAT(Refusal({}, options), HasSubstr("blk.*.typo"));
}

TEST_F(QuantizeModelTest, RefusesToQuantiseTwiceUnlessTold) {
  QuantizeModelOptions options = OptionsFor("q4_0");
  EXPECT_THAT(Refusal({.matrices = TensorType::kQ8_0}, options),
              testing::AllOf(HasSubstr("token_embd.weight already has the format Q8_0"),
                             HasSubstr("--allow-requantize")));
  options.allow_requantize = true;
  EXPECT_EQ(Quantized({.matrices = TensorType::kQ8_0}, options)
                .value()
                ->Find("blk.0.attn_q.weight")
                ->type,
            TensorType::kQ4_0);
  // An equal format is copied, and float32 loses nothing.
  EXPECT_TRUE(Quantized({.matrices = TensorType::kQ8_0}, OptionsFor("q8_0")).ok());
  for (const TensorPlan& tensor : plan_) {
    EXPECT_EQ(tensor.error.squared_error, 0);
  }
  EXPECT_TRUE(Quantized({.matrices = TensorType::kQ8_0}, OptionsFor("f32")).ok());
}

TEST_F(QuantizeModelTest, NamesTheTensorWithAValueThatIsNotFinite) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (const char* scheme : {"f32", "f16", "q8_0", "q4_k"}) {
      EXPECT_THAT(Refusal({.matrices = TensorType::kF32, .spoilt = bad}, OptionsFor(scheme)),
                  testing::AllOf(HasSubstr("blk.2.attn_k.weight"), HasSubstr("not finite")));
    }
  }
  EXPECT_THAT(Refusal({.matrices = TensorType::kF32, .spoilt = 1e30F}, OptionsFor("q8_0")),
              testing::AllOf(HasSubstr("blk.2.attn_k.weight"), HasSubstr("too large")));
}

TEST_F(QuantizeModelTest, ThreadsDoNotChangeTheFileOrTheErrors) {
  ASSERT_TRUE(Quantized({}, OptionsFor("q4_k_m"), 1).ok());
  const std::string one = ReadFile(Path("out.gguf"), 1 << 30).value();
  const auto first = plan_;
  ASSERT_TRUE(Quantized({}, OptionsFor("q4_k_m"), 3).ok());
  EXPECT_EQ(ReadFile(Path("out.gguf"), 1 << 30).value(), one);
  for (size_t i = 0; i < plan_.size(); ++i) {
    EXPECT_EQ(plan_[i].error.squared_error, first[i].error.squared_error);
  }
}

TEST_F(QuantizeModelTest, ProgressEndsWithTheTotal) {
  bytes_ = Source().Serialize();
  reader_ = GgufReader::Parse(AsBytes(bytes_)).value();
  const QuantizeModelOptions options = OptionsFor("q4_0");
  plan_ = PlanQuantization(*reader_, options).value();
  std::vector<uint64_t> seen;
  ASSERT_TRUE(QuantizeModel(*reader_, options, &plan_, Path("out.gguf"), SerialRunner(),
                            [&](uint64_t done, uint64_t total) {
                              EXPECT_LE(done, total);
                              seen.push_back(done);
                            })
                  .ok());
  EXPECT_EQ(seen.size(), plan_.size() + 1);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

// A limit on the size of files makes write(2) fail half-way, as a full disk does.
TEST_F(QuantizeModelTest, AFailedWriteLeavesNothing) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto status = Quantized({}, OptionsFor("q4_0")).status();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(ReasonOf(status), reasons::kFileUnwritable);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(QuantizeModelTest, RefusesWhatIsNoWholeModel) {
  const auto plan = [](const char* key, const char* text, uint32_t number) {
    GgufWriter writer;
    writer.SetString("general.architecture", "dream");
    if (text != nullptr) {
      writer.SetString(key, text);
    } else {
      writer.SetUnsigned32(key, number);
    }
    const std::string file = writer.Serialize().value();
    return MessageOf(
        PlanQuantization(*GgufReader::Parse(AsBytes(file)).value(), OptionsFor("q4_0")).status());
  };
  EXPECT_THAT(plan("general.type", "adapter", 0), HasSubstr("\"adapter\", not a model"));
  EXPECT_THAT(plan("split.count", nullptr, 3), HasSubstr("one of 3 parts"));
  EXPECT_EQ(plan("split.count", nullptr, 1), "");
}

TEST(QuantizationSchemeTest, KnowsItsNames) {
  EXPECT_EQ(ParseQuantizationScheme("Q4_K_M").value().name, "q4_k_m");
  EXPECT_EQ(ParseQuantizationScheme("bf16").value().file_type, 32U);
  EXPECT_THAT(MessageOf(ParseQuantizationScheme("q3_k").status()),
              testing::AllOf(HasSubstr("\"q3_k\""), HasSubstr("q4_k_m")));
}

// The layers that llama.cpp's rule names for 16 and for 28 layers.
TEST(QuantizationSchemeTest, MediumGivesMoreToSomeLayers) {
  const auto layers = [](uint64_t count, const char* part, const char* name) {
    const auto scheme = ParseQuantizationScheme(name).value();
    std::vector<uint64_t> out;
    for (uint64_t i = 0; i < count; ++i) {
      const auto tensor = fmt::format("blk.{}.{}.weight", i, part);
      if (WantedType(scheme, tensor, {.layers = count, .has_output = true}) != scheme.base) {
        out.push_back(i);
      }
    }
    return out;
  };
  EXPECT_THAT(layers(16, "ffn_down", "q4_k_m"), testing::ElementsAre(0, 1, 4, 7, 10, 13, 14, 15));
  EXPECT_THAT(layers(28, "attn_v", "q5_k_m"),
              testing::ElementsAre(0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 24, 25, 26, 27));
  EXPECT_THAT(layers(16, "attn_v", "q4_k_s"), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(layers(16, "ffn_down", "q4_k_s"), testing::ElementsAre(0, 1));
  EXPECT_THAT(layers(16, "ffn_up", "q4_k_m"), testing::IsEmpty());
  EXPECT_THAT(layers(16, "ffn_down", "q4_k"), testing::IsEmpty());
}

TEST(QuantizationSchemeTest, FallsBackByRowLength) {
  EXPECT_EQ(FittingType(TensorType::kQ4_K, 512), TensorType::kQ4_K);
  EXPECT_EQ(FittingType(TensorType::kQ4_K, 896), TensorType::kQ5_0);
  EXPECT_EQ(FittingType(TensorType::kQ5_K, 896), TensorType::kQ5_1);
  EXPECT_EQ(FittingType(TensorType::kQ6_K, 896), TensorType::kQ8_0);
  EXPECT_EQ(FittingType(TensorType::kQ6_K, 100), TensorType::kF16);
  EXPECT_EQ(FittingType(TensorType::kQ4_0, 100), TensorType::kF16);
  EXPECT_EQ(FittingType(TensorType::kF32, 7), TensorType::kF32);
}

TEST_F(QuantizeModelTest, TheStreamPadsLikeTheWriterInMemory) {
  GgufWriter whole;
  GgufWriter header;
  for (GgufWriter* writer : {&whole, &header}) {
    writer->SetString("general.architecture", "dream");
  }
  const std::vector<std::string> contents = {std::string(20, 'a'), std::string(64, 'b'),
                                             std::string(4, 'c')};
  for (const std::string& bytes : contents) {
    const std::vector<uint64_t> shape = {bytes.size() / 4};
    whole.AddTensor(bytes.substr(0, 1), TensorType::kF32, shape, bytes);
    header.DeclareTensor(bytes.substr(0, 1), TensorType::kF32, shape);
  }
  const auto stream = GgufFileStream::Create(Path("out.gguf"), header).value();
  for (const std::string& bytes : contents) {
    ASSERT_TRUE(stream->Append(AsBytes(bytes).first(3)).ok());
    ASSERT_TRUE(stream->Append(AsBytes(bytes).subspan(3)).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(Path("out.gguf")));  // it must not exist before it is whole
  ASSERT_TRUE(stream->Finish().ok());
  EXPECT_EQ(ReadFile(Path("out.gguf"), 1 << 20).value(), whole.Serialize().value());
}

}  // namespace
}  // namespace ruvd::inference
