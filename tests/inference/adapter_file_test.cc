// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/adapter_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "tests/inference/text_model.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

using ::testing::HasSubstr;

std::string TemporaryPath(const std::string& name) {
  return (std::filesystem::path(::testing::TempDir()) / name).string();
}

std::shared_ptr<const Adapter> Example(const Model& model) {
  const auto target = [&](const std::string& name) {
    return std::pair<std::string, const Matrix*>(name, FindMatrix(model, name));
  };
  return test::RandomAdapter(model,
                             {target("blk.0.attn_q.weight"), target("blk.1.ffn_down.weight")}, 5);
}

TEST(AdapterFileTest, RoundTrip) {
  const test::TextModel model;
  const auto adapter = Example(model);
  const std::string path = TemporaryPath("adapter_round_trip.gguf");
  ASSERT_TRUE(SaveAdapterFile(*adapter, model, path).ok());
  const auto loaded = LoadAdapterFile(path, model);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(AdapterId(**loaded), AdapterId(*adapter));
  EXPECT_EQ((*loaded)->name, adapter->name);
  EXPECT_EQ((*loaded)->version, adapter->version);
}

// llama.cpp has one alpha for all targets: other scales must survive as part of B.
TEST(AdapterFileTest, DifferentScalesKeepTheirEffect) {
  const test::TextModel model;
  Adapter adapter = *Example(model);
  adapter.targets["blk.1.ffn_down.weight"].scale = 4.5F;
  const std::string path = TemporaryPath("adapter_scales.gguf");
  ASSERT_TRUE(SaveAdapterFile(adapter, model, path).ok());
  const auto loaded = LoadAdapterFile(path, model);
  ASSERT_TRUE(loaded.ok());
  for (const auto& [name, change] : adapter.targets) {
    const LowRank& other = (*loaded)->targets.at(name);
    for (size_t i = 0; i < change.b.size(); ++i) {
      EXPECT_NEAR(other.scale * other.b[i], change.scale * change.b[i], 1e-5) << name;
    }
  }
}

TEST(AdapterFileTest, IsBoundToItsModel) {
  const test::TextModel model;
  auto options = test::TextModel::Defaults();
  options.seed = 2;
  const test::TextModel other(options);
  const std::string path = TemporaryPath("adapter_bound.gguf");
  ASSERT_TRUE(SaveAdapterFile(*Example(model), model, path).ok());
  EXPECT_EQ(ReasonOf(LoadAdapterFile(path, other).status()), reasons::kAdapterForOtherModel);
  EXPECT_EQ(ReasonOf(SaveAdapterFile(*Example(model), other, path)),
            reasons::kAdapterForOtherModel);
}

TEST(AdapterFileTest, MissingFile) {
  const test::TextModel model;
  EXPECT_EQ(ReasonOf(LoadAdapterFile(TemporaryPath("no such adapter"), model).status()),
            reasons::kFileNotFound);
}

void SetAdapterKeys(GgufWriter* out) {
  out->SetString("general.type", "adapter");
  out->SetString("general.architecture", "dream");
  out->SetString("adapter.type", "lora");
  out->SetFloat32("adapter.lora.alpha", 4);
}

// A minimal file as llama.cpp's converter writes it, changed in one respect.
struct Parts {
  std::string type = "adapter";
  std::string lora = "lora";
  std::string architecture = "dream";
  double alpha = 4;
  bool wide_alpha = false;  // as a 64-bit number
  std::string a_name = "blk.0.attn_q.weight.lora_a";
  std::string b_name = "blk.0.attn_q.weight.lora_b";
  uint64_t rank = 2;
  uint64_t b_rank = 2;
  uint64_t in = 64;
  TensorType tensor_type = TensorType::kF32;
};

absl::StatusOr<std::shared_ptr<const Adapter>> Parse(const std::function<void(Parts*)>& change) {
  Parts parts;
  change(&parts);
  GgufWriter out;
  out.SetString("general.type", parts.type);
  out.SetString("general.architecture", parts.architecture);
  out.SetString("adapter.type", parts.lora);
  if (parts.wide_alpha) {
    constexpr uint32_t kFloat64 = 12;  // GGUF's number of the type
    std::array<uint8_t, sizeof(double)> bytes{};
    std::memcpy(bytes.data(), &parts.alpha, bytes.size());
    out.SetRaw("adapter.lora.alpha", {.type = kFloat64, .bytes = bytes});
  } else {
    out.SetFloat32("adapter.lora.alpha", static_cast<float>(parts.alpha));
  }
  const size_t bytes = parts.tensor_type == TensorType::kF32 ? 4 : 2;
  out.AddTensor(parts.a_name, parts.tensor_type, std::vector<uint64_t>{parts.in, parts.rank},
                std::string(parts.in * parts.rank * bytes, '\x11'));
  out.AddTensor(parts.b_name, parts.tensor_type, std::vector<uint64_t>{parts.b_rank, 64},
                std::string(parts.b_rank * 64 * bytes, '\x12'));
  const test::TextModel model;
  return ParseAdapterFile(AsBytes(out.Serialize().value()), model, "from-file");
}

TEST(AdapterFileTest, LoadsWhatOthersWrote) {
  const auto adapter = Parse([](Parts*) {});
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  EXPECT_EQ((*adapter)->name, "from-file");
  EXPECT_EQ((*adapter)->targets.at("blk.0.attn_q.weight").scale, 2.0F);  // alpha / rank
  const auto no_alpha = Parse([](Parts* parts) { parts->alpha = 0; });
  EXPECT_EQ((*no_alpha)->targets.begin()->second.scale, 1.0F);
  EXPECT_TRUE(Parse([](Parts* parts) { parts->tensor_type = TensorType::kF16; }).ok());
}

TEST(AdapterFileTest, RefusesWhatDoesNotFit) {
  const std::pair<std::function<void(Parts*)>, std::string> cases[] = {
      {[](Parts* p) { p->type = "model"; }, "general.type"},
      {[](Parts* p) { p->lora = "ia3"; }, "adapter.type"},
      {[](Parts* p) { p->architecture = "llama"; }, "general.architecture"},
      {[](Parts* p) { p->alpha = std::numeric_limits<float>::quiet_NaN(); }, "alpha"},
      {[](Parts* p) { p->wide_alpha = true, p->alpha = 1e300; }, "alpha"},
      {[](Parts* p) { p->b_name = "blk.0.attn_k.weight.lora_b"; }, "missing"},
      {[](Parts* p) { p->a_name = "blk.0.attn_q.weight"; }, "neither"},
      {[](Parts* p) { p->b_rank = 3; }, "shapes"},
      {[](Parts* p) { p->rank = p->b_rank = 1024; }, "rank"},
      {[](Parts* p) { p->in = 32; }, "does not have"},
      {[](Parts* p) { p->tensor_type = TensorType::kBF16; }, "only F32 and F16"},
  };
  for (const auto& [change, message] : cases) {
    const auto adapter = Parse(change);
    EXPECT_EQ(ReasonOf(adapter.status()), reasons::kAdapterInvalid) << message;
    EXPECT_THAT(MessageOf(adapter.status()), HasSubstr(message));
  }
}

TEST(AdapterFileTest, RefusesBytesThatAreNoGguf) {
  const test::TextModel model;
  EXPECT_EQ(ReasonOf(ParseAdapterFile(AsBytes("GGUFnonsense"), model, "x").status()),
            reasons::kAdapterInvalid);
}

TEST(AdapterFileTest, LoadsTheFixture) {
  const std::string fixtures = test::SourceDir() + "/../shared/fixtures";
  if (!std::filesystem::exists(fixtures)) {
    GTEST_SKIP() << "the shared fixtures are not here";
  }
  const auto model = Model::Load(fixtures + "/models/dream-F32.gguf");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto adapter = LoadAdapterFile(fixtures + "/lora/dream-lora-qv.gguf", **model);
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  EXPECT_EQ((*adapter)->targets.size(), 4U);
  EXPECT_EQ((*adapter)->targets.begin()->second.rank, 8);
  EXPECT_EQ((*adapter)->targets.begin()->second.scale, 2.0F);
}

// The A factor of a rank-1 change as ggml writes it: without its second dimension.
TEST(AdapterFileTest, AnAOfRank1MayBeAVector) {
  const test::TextModel model;
  GgufWriter out;
  SetAdapterKeys(&out);
  const std::string a(64 * 4, '\x11');
  const std::string b(64 * 4, '\x11');
  out.AddTensor("blk.0.attn_q.weight.lora_a", TensorType::kF32, std::vector<uint64_t>{64}, a);
  out.AddTensor("blk.0.attn_q.weight.lora_b", TensorType::kF32, std::vector<uint64_t>{1, 64}, b);
  const auto adapter = ParseAdapterFile(AsBytes(out.Serialize().value()), model, "n");
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  EXPECT_EQ((*adapter)->targets.at("blk.0.attn_q.weight").rank, 1);
}

TEST(AdapterFileTest, AFusedTargetChangesQueriesKeysAndValues) {
  const test::TextModel model;
  const ModelConfig& config = model.config();
  const size_t q = static_cast<size_t>(config.heads) * static_cast<size_t>(config.head_size);
  const size_t kv = static_cast<size_t>(config.kv_heads) * static_cast<size_t>(config.head_size);
  std::vector<float> a(static_cast<size_t>(config.width) * 2, 0.5F);
  std::vector<float> b((q + 2 * kv) * 2);
  for (size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<float>(i);
  }
  const auto bytes = [](const std::vector<float>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  const auto parse = [&](const char* target, size_t rows) {
    GgufWriter out;
    SetAdapterKeys(&out);
    const std::string name = target;
    out.AddTensor(name + ".lora_a", TensorType::kF32, std::vector<uint64_t>{a.size() / 2, 2},
                  bytes(a));
    out.AddTensor(name + ".lora_b", TensorType::kF32, std::vector<uint64_t>{2, rows},
                  bytes({b.begin(), b.begin() + static_cast<std::ptrdiff_t>(2 * rows)}));
    return ParseAdapterFile(AsBytes(out.Serialize().value()), model, "n");
  };
  const auto adapter = parse("blk.1.attn_qkv.weight", q + 2 * kv);
  ASSERT_TRUE(adapter.ok()) << adapter.status();
  ASSERT_EQ((*adapter)->targets.size(), 3U);
  EXPECT_EQ((*adapter)->targets.at("blk.1.attn_q.weight").b.front(), 0);
  EXPECT_EQ((*adapter)->targets.at("blk.1.attn_k.weight").b.front(), static_cast<float>(2 * q));
  EXPECT_EQ((*adapter)->targets.at("blk.1.attn_v.weight").b.front(),
            static_cast<float>(2 * (q + kv)));
  EXPECT_EQ((*adapter)->targets.at("blk.1.attn_v.weight").a, a);
  EXPECT_THAT(MessageOf(parse("blk.1.attn_qkv.weight", q + kv).status()),
              HasSubstr("queries, keys and values"));
  EXPECT_THAT(MessageOf(parse("token_embd.weight", kv).status()),
              HasSubstr("embeddings are not adapted"));
}

// Regression test: values were decoded, up to gigabytes of them, before it was checked that the
// model has such a matrix. Here they cannot be read at all.
TEST(AdapterFileTest, AShapeThatTheModelLacksIsRefusedBeforeItsValues) {
  const test::TextModel model;
  const auto parse = [&](const std::string& target, size_t in, size_t out) {
    GgufWriter file;
    SetAdapterKeys(&file);
    const std::string not_numbers(std::max(in, out) * sizeof(float), '\xff');
    file.AddTensor(target + ".lora_a", TensorType::kF32, std::vector<uint64_t>{in, 1},
                   not_numbers.substr(0, in * sizeof(float)));
    file.AddTensor(target + ".lora_b", TensorType::kF32, std::vector<uint64_t>{1, out},
                   not_numbers.substr(0, out * sizeof(float)));
    return MessageOf(ParseAdapterFile(AsBytes(file.Serialize().value()), model, "n").status());
  };
  const Matrix& q = *FindMatrix(model, "blk.0.attn_q.weight");
  const auto in = static_cast<size_t>(q.columns);
  const auto out = static_cast<size_t>(q.rows);
  EXPECT_THAT(parse("blk.0.attn_q.weight", in, out), HasSubstr("not finite"));
  EXPECT_THAT(parse("blk.0.attn_q.weight", in + 1, out), HasSubstr("does not have"));
  EXPECT_THAT(parse("blk.0.attn_q.weight", in, out + 1), HasSubstr("does not have"));
  EXPECT_THAT(parse("blk.9.attn_q.weight", in, out), HasSubstr("does not have"));
  EXPECT_THAT(parse("blk.0.attn_qkv.weight", in, out), HasSubstr("queries, keys and values"));
}

}  // namespace
}  // namespace ruvd::inference
