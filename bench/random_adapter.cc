// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/random_adapter.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace ruvd::bench {
namespace {

constexpr double kSpread = 0.01;  // small beside the weights

std::vector<float> RandomValues(int count, Random* random) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(random->Normal() * kSpread);
  }
  return values;
}

}  // namespace

std::shared_ptr<const inference::Adapter> RandomAdapter(const inference::Model& model, int rank) {
  auto adapter = std::make_shared<inference::Adapter>();
  adapter->name = "random";
  adapter->version = 1;
  adapter->model_hash = model.hash();
  Random random(1);
  for (int i = 0; i < model.config().layers; ++i) {
    const inference::LayerWeights& layer = model.layer(i);
    const std::pair<const char*, const inference::Matrix*> targets[] = {
        {"attn_q", &layer.q},           {"attn_k", &layer.k},      {"attn_v", &layer.v},
        {"attn_output", &layer.output}, {"ffn_gate", &layer.gate}, {"ffn_up", &layer.up},
        {"ffn_down", &layer.down}};
    for (const auto& [name, matrix] : targets) {
      inference::LowRank change{.rank = rank, .in = matrix->columns, .out = matrix->rows};
      change.a = RandomValues(rank * change.in, &random);
      change.b = RandomValues(rank * change.out, &random);
      adapter->targets.emplace(fmt::format("blk.{}.{}.weight", i, name), std::move(change));
    }
  }
  return adapter;
}

}  // namespace ruvd::bench
