// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::inference {
namespace {

using test::RelativeRms;
using test::TinyModel;
using test::Values;

// Returns any matrix that an adapter may change, by the model's name for it.
const Matrix& MatrixNamed(const TinyModel& model, const std::string& name) {
  if (name == "output.weight") {
    return model.output();
  }
  const LayerWeights& layer = model.layer(name[4] - '0');
  const std::vector<std::pair<std::string, const Matrix*>> all = {
      {"attn_q", &layer.q},           {"attn_k", &layer.k},      {"attn_v", &layer.v},
      {"attn_output", &layer.output}, {"ffn_gate", &layer.gate}, {"ffn_up", &layer.up},
      {"ffn_down", &layer.down}};
  for (const auto& [part, matrix] : all) {
    if (name == "blk." + name.substr(4, 1) + "." + part + ".weight") {
      return *matrix;
    }
  }
  RUVD_CHECK(false);
}

std::vector<std::string> AllTargets() {
  std::vector<std::string> names = {"output.weight"};
  for (const char* part :
       {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
    for (const char* layer : {"0", "1"}) {
      names.push_back(std::string("blk.") + layer + "." + part + ".weight");
    }
  }
  return names;
}

LowRank RandomChange(const Matrix& w, int rank, Random& random) {
  LowRank change{.rank = rank, .in = w.columns, .out = w.rows, .a = {}, .b = {}, .scale = 0.7F};
  for (int i = 0; i < rank * w.columns; ++i) {
    change.a.push_back(static_cast<float>(0.2 * random.Normal()));
  }
  for (int i = 0; i < rank * w.rows; ++i) {
    change.b.push_back(static_cast<float>(0.2 * random.Normal()));
  }
  return change;
}

std::shared_ptr<const Adapter> RandomAdapter(const TinyModel& model,
                                             const std::vector<std::string>& targets, int rank,
                                             uint64_t seed) {
  Random random(seed);
  auto adapter = std::make_shared<Adapter>();
  adapter->name = "random";
  for (const std::string& name : targets) {
    adapter->targets[name] = RandomChange(MatrixNamed(model, name), rank, random);
  }
  return adapter;
}

// Adds weight * scale * B A to the model's own (float32) matrices.
void Merge(TinyModel* model, const Adapter& adapter, float weight) {
  for (const auto& [name, change] : adapter.targets) {
    auto& w = const_cast<Matrix&>(MatrixNamed(*model, name));
    std::vector<float> values = Values(w);
    const auto in = static_cast<size_t>(change.in);
    const auto rank = static_cast<size_t>(change.rank);
    for (size_t o = 0; o < static_cast<size_t>(change.out); ++o) {
      for (size_t c = 0; c < in; ++c) {
        double sum = 0;
        for (size_t r = 0; r < rank; ++r) {
          sum += static_cast<double>(change.b[o * rank + r]) * change.a[r * in + c];
        }
        values[o * in + c] += static_cast<float>(sum * weight * change.scale);
      }
    }
    w = model->MakeMatrix(TensorType::kF32, w.rows, w.columns, values);
  }
}

std::vector<float> Logits(Transformer& transformer, const AdapterMix* mix) {
  const std::vector<TokenId> tokens = {5, 17, 3, 22, 38, 0, 9, 31, 12, 12, 7, 8, 25, 14, 2, 6, 33};
  ForwardOutput output;
  const absl::Status status = transformer.Forward({.tokens = tokens, .adapters = mix}, &output);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<float> logits(tokens.size() * 40);
  transformer.Logits(output.hidden, mix, logits);
  return logits;
}

TEST(TransformerAdaptersTest, EachTargetEqualsTheMergedMatrix) {
  for (const std::string& target : AllTargets()) {
    const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
    const auto merged = std::make_shared<TinyModel>(TinyModel::Options{});
    const auto adapter = RandomAdapter(*model, {target}, 3, 4);
    Merge(merged.get(), *adapter, 0.5F);
    CpuTransformer adapted(model, SerialRunner());
    CpuTransformer dense(merged, SerialRunner());
    const AdapterMix mix{{{adapter, 0.5F}}};
    const std::vector<float> expected = Logits(dense, nullptr);
    EXPECT_LT(RelativeRms(Logits(adapted, &mix), expected), 1e-5) << target;
    EXPECT_GT(RelativeRms(Logits(adapted, nullptr), expected), 1e-3) << target << " does nothing";
  }
}

TEST(TransformerAdaptersTest, AMixOfSeveralRanksEqualsTheSumOfTheirChanges) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  const auto merged = std::make_shared<TinyModel>(TinyModel::Options{});
  const auto first = RandomAdapter(*model, AllTargets(), 2, 5);
  const auto second = RandomAdapter(*model, {"blk.1.attn_output.weight", "output.weight"}, 5, 6);
  Merge(merged.get(), *first, 1.0F);
  Merge(merged.get(), *second, -0.25F);
  CpuTransformer adapted(model, SerialRunner());
  CpuTransformer dense(merged, SerialRunner());
  const AdapterMix mix{{{first, 1.0F}, {second, -0.25F}}};
  EXPECT_LT(RelativeRms(Logits(adapted, &mix), Logits(dense, nullptr)), 1e-5);
}

TEST(TransformerAdaptersTest, FollowsEveryChangeOfTheMix) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  const auto adapter = RandomAdapter(*model, AllTargets(), 2, 7);
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<float> base = Logits(transformer, nullptr);
  const AdapterMix one{{{adapter, 1.0F}}};
  const AdapterMix half{{{adapter, 0.5F}}};
  const AdapterMix none{{{adapter, 0.0F}}};
  const AdapterMix empty;
  const std::vector<float> with_one = Logits(transformer, &one);
  EXPECT_GT(RelativeRms(with_one, base), 1e-3);
  EXPECT_GT(RelativeRms(Logits(transformer, &half), with_one), 1e-3);
  EXPECT_EQ(Logits(transformer, &one), with_one);
  EXPECT_EQ(Logits(transformer, &none), base) << "weight zero is exactly the base model";
  EXPECT_EQ(Logits(transformer, &empty), base);
}

TEST(TransformerAdaptersTest, RefusesAdaptersThatDoNotFit) {
  const auto model = std::make_shared<TinyModel>(TinyModel::Options{});
  CpuTransformer transformer(model, SerialRunner());
  const std::vector<TokenId> tokens = {1, 2, 3};
  const std::vector<float> base = Logits(transformer, nullptr);
  const auto status_with = [&](const std::function<void(Adapter*)>& change) {
    Adapter adapter = *RandomAdapter(*model, {"blk.0.attn_q.weight"}, 2, 8);
    change(&adapter);
    const AdapterMix mix{{{std::make_shared<Adapter>(adapter), 1.0F}}};
    ForwardOutput output;
    return transformer.Forward({.tokens = tokens, .adapters = &mix}, &output);
  };
  LowRank* change = nullptr;
  const auto at_q = [&](Adapter* adapter) {
    return change = &adapter->targets["blk.0.attn_q.weight"];
  };
  const absl::Status missing = status_with([](Adapter* adapter) {
    adapter->targets["blk.2.attn_q.weight"] = adapter->targets["blk.0.attn_q.weight"];
  });
  EXPECT_EQ(ReasonOf(missing), reasons::kAdapterInvalid);
  EXPECT_THAT(MessageOf(missing), ::testing::HasSubstr("adapter random: changes blk.2.attn_q"));
  EXPECT_EQ(ReasonOf(status_with([&](Adapter* a) { at_q(a)->in = 63; })), reasons::kWrongDimension);
  EXPECT_EQ(ReasonOf(status_with([&](Adapter* a) { at_q(a)->a.pop_back(); })),
            reasons::kWrongDimension);
  EXPECT_EQ(ReasonOf(status_with([&](Adapter* a) { at_q(a)->b.push_back(0); })),
            reasons::kWrongDimension);
  EXPECT_EQ(ReasonOf(status_with([&](Adapter* a) { at_q(a)->rank = -1; })),
            reasons::kWrongDimension);
  EXPECT_EQ(ReasonOf(status_with([&](Adapter* a) {
              at_q(a)->rank = 2000;
              change->a.resize(2000 * 64);
              change->b.resize(2000 * 64);
            })),
            reasons::kAdapterInvalid);
  const AdapterMix hole{{{nullptr, 1.0F}}};
  ForwardOutput output;
  EXPECT_EQ(ReasonOf(transformer.Forward({.tokens = tokens, .adapters = &hole}, &output)),
            reasons::kInvalidArgument);
  EXPECT_EQ(Logits(transformer, nullptr), base) << "works as before after errors";
}

}  // namespace
}  // namespace ruvd::inference
