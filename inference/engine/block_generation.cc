// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "inference/engine/generation_base.h"
#include "inference/engine/prefix_cache.h"
#include "inference/sampler/commit_schedule.h"
#include "inference/sampler/diffusion_loop.h"

namespace ruvd::generation {
namespace {

// Block diffusion (BD3-LM, arXiv 2503.09573): blocks are denoised from left to right, each seeing
// itself and the clean blocks before it, whose keys and values are cached exactly. Blocks count
// from position 0, as in training, so the first one may begin with the end of the prompt.
class BlockGeneration final : public MaskedBase {
 public:
  BlockGeneration(const Model& model, Plan plan, std::vector<TokenId> prompt,
                  AdapterPolicy adapters)
      : MaskedBase(model, std::move(plan), std::move(prompt), std::move(adapters)),
        prefixes_(plan_.config,
                  {.kind = Attention::Kind::kBlockCausal, .block_length = plan_.block_length},
                  static_cast<int>(tokens_.size())) {
    EnterBlock(prompt_length_ / plan_.block_length * plan_.block_length);
  }

  absl::StatusOr<StepResult> Step(Transformer& transformer) override {
    RUVD_CHECK(!done());
    const std::vector<int> positions = Masked(begin_, end_);
    const int window = std::min(end_, active_end()) - std::max(begin_, prompt_length_);
    const float t = static_cast<float>(positions.size()) / static_cast<float>(window);
    const AdapterMix mix = AdaptersFor(t);
    ASSIGN_OR_RETURN(const std::vector<float> hidden,
                     PredictingHidden(transformer, mix, positions));
    const int count = schedule_.Count(block_step_++, static_cast<int>(positions.size()));
    StepResult result = CommitBest(transformer, mix, positions, hidden, count);
    result.t = t;
    if (!done() && Masked(begin_, end_).empty()) {
      EnterBlock(end_);
    }
    return result;
  }

 private:
  void EnterBlock(int begin) {
    begin_ = begin;
    end_ = std::min(begin + plan_.block_length, static_cast<int>(tokens_.size()));
    block_step_ = 0;
    const int masks = end_ - std::max(begin_, prompt_length_);
    schedule_ = EvenSchedule(plan_.options.steps > 0 ? plan_.options.steps : masks);
  }

  // The hidden state that predicts each position. With shifted logits a block's first token is
  // predicted by the clean token before the block, as in training.
  absl::StatusOr<std::vector<float>> PredictingHidden(Transformer& transformer,
                                                      const AdapterMix& mix,
                                                      std::span<const int> positions) {
    const auto begin = static_cast<size_t>(begin_);
    ASSIGN_OR_RETURN(
        const PrefixCaches::Prefix prefix,
        prefixes_.Extend(transformer, std::span(tokens_).first(begin), mix, &forwards_));
    RETURN_IF_ERROR(transformer.Forward(
        {.tokens = std::span(tokens_).subspan(begin, static_cast<size_t>(end_ - begin_)),
         .attention = {.kind = Attention::Kind::kBlockCausal, .block_length = plan_.block_length},
         .cache = prefix.cache,
         .adapters = &mix},
        &output_));
    ++forwards_;
    const auto width = static_cast<size_t>(plan_.config.width);
    std::vector<float> hidden(positions.size() * width);
    for (size_t i = 0; i < positions.size(); ++i) {
      const int row = PredictingRow(positions[i], plan_.config.shift_logits) - begin_;
      const float* source = row < 0 ? prefix.last_hidden.data()
                                    : output_.hidden.data() + static_cast<size_t>(row) * width;
      std::copy_n(source, width, hidden.data() + i * width);
    }
    return hidden;
  }

  PrefixCaches prefixes_;
  EvenSchedule schedule_{1};
  ForwardOutput output_;
  int begin_ = 0;  // the active block
  int end_ = 0;
  int block_step_ = 0;
};

}  // namespace

std::unique_ptr<Generation> MakeBlock(const Model& model, Plan plan, std::vector<TokenId> prompt,
                                      Generation::AdapterPolicy adapters) {
  return std::make_unique<BlockGeneration>(model, std::move(plan), std::move(prompt),
                                           std::move(adapters));
}

}  // namespace ruvd::generation
