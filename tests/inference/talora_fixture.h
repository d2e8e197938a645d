// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/talora.h"
#include "tests/inference/text_model.h"

namespace ruvd::test {

// A trunk and three random residuals on some matrices of both layers, "tale@3"; with a random
// router where the strategy wants one.
inline inference::Talora RandomTalora(const inference::Model& model,
                                      inference::BankStrategy strategy, uint64_t seed = 1) {
  std::vector<std::pair<std::string, const inference::Matrix*>> targets;
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_v.weight", "blk.1.ffn_down.weight"}) {
    targets.emplace_back(name, inference::FindMatrix(model, name));
  }
  inference::Talora talora;
  talora.name = "tale";
  talora.version = 3;
  talora.model_hash = model.hash();
  talora.schedule.strategy = strategy;
  talora.trunk = RandomAdapter(model, targets, 100 * seed);
  for (uint64_t bank = 1; bank <= talora.schedule.banks(); ++bank) {
    talora.residuals.push_back(RandomAdapter(model, targets, 100 * seed + bank));
  }
  if (strategy == inference::BankStrategy::kAttention) {
    talora.router = inference::BankRouter(3, static_cast<size_t>(model.config().width), 4);
    Random random(seed);
    for (double& value : talora.router->parameters()) {
      value = static_cast<float>(random.Normal());
    }
  }
  return talora;
}

}  // namespace ruvd::test
