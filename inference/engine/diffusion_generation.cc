// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "inference/engine/generation_base.h"
#include "inference/sampler/commit_schedule.h"
#include "inference/sampler/diffusion_loop.h"

namespace ruvd::generation {
namespace {

// Masked diffusion over the whole window with bidirectional attention: nothing can be cached, every
// step evaluates prompt and window.
class DiffusionGeneration final : public MaskedBase {
 public:
  DiffusionGeneration(const Model& model, Plan plan, std::vector<TokenId> prompt,
                      AdapterPolicy adapters)
      : MaskedBase(model, std::move(plan), std::move(prompt), std::move(adapters)),
        schedule_(plan_.options.steps > 0 ? plan_.options.steps : plan_.max_tokens) {}

  absl::StatusOr<StepResult> Step(Transformer& transformer) override {
    RUVD_CHECK(!done());
    const std::vector<int> positions = Masked(prompt_length_, active_end());
    const float t =
        static_cast<float>(positions.size()) / static_cast<float>(active_end() - prompt_length_);
    const AdapterMix mix = AdaptersFor(t);
    RETURN_IF_ERROR(transformer.Forward({.tokens = tokens_, .adapters = &mix}, &output_));
    ++forwards_;
    const auto width = static_cast<size_t>(plan_.config.width);
    std::vector<float> hidden(positions.size() * width);
    for (size_t i = 0; i < positions.size(); ++i) {
      const auto row = static_cast<size_t>(PredictingRow(positions[i], plan_.config.shift_logits));
      std::copy_n(output_.hidden.data() + row * width, width, hidden.data() + i * width);
    }
    const int count = schedule_.Count(steps_, static_cast<int>(positions.size()));
    StepResult result = CommitBest(transformer, mix, positions, hidden, count);
    result.t = t;
    return result;
  }

 private:
  EvenSchedule schedule_;
  ForwardOutput output_;
};

}  // namespace

std::unique_ptr<Generation> MakeDiffusion(const Model& model, Plan plan,
                                          std::vector<TokenId> prompt,
                                          Generation::AdapterPolicy adapters) {
  return std::make_unique<DiffusionGeneration>(model, std::move(plan), std::move(prompt),
                                               std::move(adapters));
}

}  // namespace ruvd::generation
