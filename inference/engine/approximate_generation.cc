// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "inference/engine/generation_base.h"
#include "inference/prefix/prefix_cache.h"
#include "inference/sampler/diffusion_loop.h"

namespace ruvd::inference::generation {
namespace {

// Masked diffusion with bidirectional attention and an APPROXIMATE cache of both sides (the dual
// cache of Fast-dLLM, arXiv 2505.22618). Blocks are denoised from left to right. A step evaluates
// only the active block and takes the keys and values of all other tokens from the last full
// forward, although they depend on every token. A full forward is due when a block begins, when
// `approximate_cache_steps` steps have passed, and when the adapters change. Tokens of the active
// block enter the cache as they were evaluated, so a token's own keys enter one step after it was
// committed (the delayed cache of dKV-Cache, arXiv 2505.15781). With a full forward every step, the
// result equals that of evaluating everything every time. A cache that was released is restored
// from the tokens of the last full forward.
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

  size_t pages_held() const override {
    size_t pages = 0;
    for (const KvCache& cache : caches_) {
      pages += cache.pages().size();
    }
    return pages;
  }

 private:
  void DropCaches() override {
    for (KvCache& cache : caches_) {
      cache.Truncate(0);
    }
  }
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
    full_ = !age_.has_value() || *age_ >= plan_.options.approximate_cache_steps ||
            !SameMix(mix_, cached_mix_);
    restoring_ = !full_ && caches_.front().length() == 0;
    const auto length = static_cast<int>(tokens_.size());
    // With shifted logits the row before the block predicts its first token.
    begin_ =
        full_ || restoring_ ? 0 : std::max(0, scope_begin_ - (plan_.config.shift_logits ? 1 : 0));
    const int end = full_ || restoring_ ? length : scope_end_;
    for (int branch = 0; branch < branches(); ++branch) {
      const auto at = static_cast<size_t>(branch);
      const std::span<const TokenId> tokens =
          restoring_ ? std::span<const TokenId>(cached_tokens_[at]) : BranchTokens(branch);
      inputs_.push_back(
          {.tokens = tokens.subspan(static_cast<size_t>(begin_), static_cast<size_t>(end - begin_)),
           .attention = {.kind = Attention::Kind::kBidirectional},
           .cache = &caches_[at],
           .extend_cache = true,
           .adapters = &mix_,
           .rows = restoring_ ? std::vector<int>() : PredictingRows(begin_),
           .position = begin_});
    }
    return restoring_;
  }

  void UseOutputs(std::span<const ForwardOutput> outputs) override {
    if (restoring_) {
      return;
    }
    for (size_t branch = 0; branch < outputs.size(); ++branch) {
      ReadHidden(static_cast<int>(branch), begin_, outputs[branch].hidden, {});
    }
    age_ = full_ ? 1 : *age_ + 1;
    if (full_) {
      cached_mix_ = mix_;
      cached_tokens_.clear();
      for (int branch = 0; branch < branches(); ++branch) {
        const std::span<const TokenId> tokens = BranchTokens(branch);
        cached_tokens_.emplace_back(tokens.begin(), tokens.end());
      }
    }
  }

  std::vector<KvCache> caches_;  // by branch
  // State of the last full forward
  AdapterMix cached_mix_;
  std::vector<std::vector<TokenId>> cached_tokens_;  // by branch
  std::optional<int> age_;  // steps since the last full forward, including it; absent: it is due
  // State of the current forward
  bool full_ = false;
  bool restoring_ = false;
  int begin_ = 0;
};

}  // namespace

std::unique_ptr<Generation> MakeApproximate(const Model& model, Plan plan,
                                            Generation::AdapterPolicy adapters) {
  return std::make_unique<ApproximateGeneration>(model, std::move(plan), std::move(adapters));
}

}  // namespace ruvd::inference::generation
