// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <utility>

#include "inference/engine/generation_base.h"

namespace ruvd::inference::generation {
namespace {

// Masked diffusion over the whole window with bidirectional attention. Nothing can be cached: every
// step evaluates prompt and window.
class DiffusionGeneration final : public MaskedBase {
 public:
  DiffusionGeneration(const Model& model, Plan plan, AdapterPolicy adapters)
      : MaskedBase(model, std::move(plan), std::move(adapters)) {
    EnterScope(0, static_cast<int>(tokens_.size()));
  }

 private:
  bool PrepareScope() override {
    for (int branch = 0; branch < branches(); ++branch) {
      inputs_.push_back({.tokens = BranchTokens(branch),
                         .attention = {.kind = Attention::Kind::kBidirectional},
                         .adapters = &mix_,
                         .rows = PredictingRows(0)});
    }
    return false;
  }

  void UseOutputs(std::span<const ForwardOutput> outputs) override {
    for (size_t branch = 0; branch < outputs.size(); ++branch) {
      ReadHidden(static_cast<int>(branch), 0, outputs[branch].hidden, {});
    }
  }
};

}  // namespace

std::unique_ptr<Generation> MakeDiffusion(const Model& model, Plan plan,
                                          Generation::AdapterPolicy adapters) {
  return std::make_unique<DiffusionGeneration>(model, std::move(plan), std::move(adapters));
}

}  // namespace ruvd::inference::generation
