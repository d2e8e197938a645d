// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "base/random.h"
#include "inference/adapter/adapter.h"
#include "tests/inference/tiny_model.h"

namespace ruvd::test {

// Rank 3 on some matrices of both layers, alone and among those that share their input, and on the
// output matrix.
inline std::shared_ptr<const inference::Adapter> RandomAdapter(const TinyModel& model,
                                                               uint64_t seed) {
  Random random(seed);
  auto adapter = std::make_shared<inference::Adapter>();
  adapter->name = "random";
  const auto add = [&](const std::string& name, const inference::Matrix& w) {
    inference::LowRank change{
        .rank = 3, .in = w.columns, .out = w.rows, .a = {}, .b = {}, .scale = 0.7F};
    for (int i = 0; i < 3 * (w.columns + w.rows); ++i) {
      (i < 3 * w.columns ? change.a : change.b)
          .push_back(static_cast<float>(0.2 * random.Normal()));
    }
    adapter->targets[name] = change;
  };
  add("blk.0.attn_v.weight", model.layer(0).v);
  add("blk.0.attn_output.weight", model.layer(0).output);
  add("blk.1.attn_q.weight", model.layer(1).q);
  add("blk.1.attn_k.weight", model.layer(1).k);
  add("blk.1.ffn_up.weight", model.layer(1).up);
  add("blk.1.ffn_down.weight", model.layer(1).down);
  add("output.weight", model.output());
  return adapter;
}

}  // namespace ruvd::test
