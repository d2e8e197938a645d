// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "inference/engine/generation_base.h"
#include "inference/engine/prefix_cache.h"
#include "inference/sampler/diffusion_loop.h"

namespace ruvd::generation {
namespace {

// Masked diffusion with bidirectional attention behind an APPROXIMATE cache of both sides (the dual
// cache of Fast-dLLM, arXiv 2505.22618). Blocks are denoised from left to right; a step evaluates
// the active block only and takes the keys and values of all other tokens from the last full
// forward, although they depend on every token. A full forward is due when a block begins, when
// `approximate_cache_steps` steps have passed and when the adapters change. Tokens of the active
// block enter the cache as they were evaluated, so a token's own keys come one step after it was
// committed (the delayed cache of dKV-Cache, arXiv 2505.15781). With a full forward every step the
// result is that of evaluating everything every time.
class ApproximateGeneration final : public MaskedBase {
 public:
  ApproximateGeneration(const Model& model, Plan plan, AdapterPolicy adapters)
      : MaskedBase(model, std::move(plan), std::move(adapters)) {
    const auto capacity = static_cast<int>(tokens_.size());
    for (int branch = 0; branch < branches(); ++branch) {
      caches_.push_back(plan_.prefixes == nullptr ? KvCache(plan_.config, capacity)
                                                  : KvCache(plan_.prefixes->pool(), capacity));
    }
    EnterBlock(plan_.first_open);
  }

 private:
  void EnterNextScope() override { EnterBlock(scope_end_); }

  void EnterBlock(int begin) {
    const auto end_of = [this](int from) {
      return std::min(from + plan_.block_length, plan_.open_end);
    };
    while (!HasOpen(begin, end_of(begin))) {
      begin = end_of(begin);
    }
    EnterScope(begin, end_of(begin));
    age_ = std::nullopt;
  }

  bool PrepareScope() override {
    const bool full = !age_.has_value() || *age_ >= plan_.options.approximate_cache_steps ||
                      !SameMix(mix_, cached_mix_);
    // With shifted logits the row before the block predicts its first token.
    begin_ = full ? 0 : std::max(0, scope_begin_ - (plan_.config.shift_logits ? 1 : 0));
    const int end = full ? static_cast<int>(tokens_.size()) : scope_end_;
    for (int branch = 0; branch < branches(); ++branch) {
      inputs_.push_back({.tokens = BranchTokens(branch).subspan(static_cast<size_t>(begin_),
                                                                static_cast<size_t>(end - begin_)),
                         .attention = {.kind = Attention::Kind::kBidirectional},
                         .cache = &caches_[static_cast<size_t>(branch)],
                         .extend_cache = true,
                         .adapters = &mix_,
                         .rows = PredictingRows(begin_),
                         .position = begin_});
    }
    age_ = full ? 1 : *age_ + 1;
    cached_mix_ = mix_;
    return false;
  }

  void UseOutputs(std::span<const ForwardOutput> outputs) override {
    for (size_t branch = 0; branch < outputs.size(); ++branch) {
      ReadHidden(static_cast<int>(branch), begin_, outputs[branch].hidden, {});
    }
  }

  std::vector<KvCache> caches_;  // by branch
  AdapterMix cached_mix_;
  std::optional<int> age_;  // steps since the last full forward, itself included; absent: it is due
  int begin_ = 0;           // of the forward under way
};

}  // namespace

std::unique_ptr<Generation> MakeApproximate(const Model& model, Plan plan,
                                            Generation::AdapterPolicy adapters) {
  return std::make_unique<ApproximateGeneration>(model, std::move(plan), std::move(adapters));
}

}  // namespace ruvd::generation
