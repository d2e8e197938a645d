// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <utility>

#include "inference/engine/generation_base.h"
#include "inference/prefix/prefix_cache.h"

namespace ruvd::inference::generation {
namespace {

// Block diffusion (BD3-LM, arXiv 2503.09573): blocks are denoised from left to right. Each block
// sees itself and the clean blocks before it, whose keys and values are cached exactly. Blocks
// count from position 0, as in training, so the first block may begin with the end of the prompt. A
// block without open positions is not denoised: it only enters the cache.
class BlockGeneration final : public MaskedBase {
 public:
  BlockGeneration(const Model& model, Plan plan, AdapterPolicy adapters)
      : MaskedBase(model, std::move(plan), std::move(adapters)),
        attention_{.kind = Attention::Kind::kBlockCausal, .block_length = plan_.block_length} {
    for (int branch = 0; branch < branches(); ++branch) {
      prefixes_.emplace_back(plan_.config, attention_, static_cast<int>(tokens_.size()),
                             plan_.prefixes);
    }
    EnterBlock(plan_.first_open / plan_.block_length * plan_.block_length);
  }

  size_t pages_held() const override {
    size_t pages = 0;
    for (const PrefixCaches& prefixes : prefixes_) {
      pages += prefixes.pages_held();
    }
    return pages;
  }

 private:
  void DropCaches() override {
    for (PrefixCaches& prefixes : prefixes_) {
      prefixes.Release();
    }
  }
  void EnterNextScope() override { EnterBlock(scope_end_); }

  void EnterBlock(int begin) {
    const auto end_of = [this](int from) {
      return std::min(from + plan_.block_length, static_cast<int>(tokens_.size()));
    };
    while (!HasOpen(begin, end_of(begin))) {
      begin = end_of(begin);
    }
    EnterScope(begin, end_of(begin));
  }

  bool PrepareScope() override {
    filled_.clear();
    for (int branch = 0; branch < branches(); ++branch) {
      if (auto missing = prefixes_[static_cast<size_t>(branch)].MissingForward(
              PrefixOf(branch), BranchTokens(branch).first(static_cast<size_t>(scope_begin_)))) {
        inputs_.push_back(*std::move(missing));
        filled_.push_back(branch);
      }
    }
    NoteCached(PrefixOf(0).cache.length());
    if (!filled_.empty()) {
      return true;
    }
    std::vector<int> rows = PredictingRows(scope_begin_);
    if (rows.empty()) {
      return false;  // the token before the block predicts all that the step needs
    }
    for (int branch = 0; branch < branches(); ++branch) {
      PrefixCaches::Prefix& prefix = PrefixOf(branch);
      inputs_.push_back(
          {.tokens = BranchTokens(branch).subspan(static_cast<size_t>(scope_begin_),
                                                  static_cast<size_t>(scope_end_ - scope_begin_)),
           .attention = attention_,
           .cache = &prefix.cache,
           .adapters = &prefix.mix,
           .rows = rows});
    }
    return false;
  }

  void UseOutputs(std::span<const ForwardOutput> outputs) override {
    if (!filled_.empty()) {
      for (size_t i = 0; i < filled_.size(); ++i) {
        PrefixOf(filled_[i]).last_hidden = outputs[i].hidden;
      }
      return;
    }
    for (int branch = 0; branch < branches(); ++branch) {
      const std::span<const float> hidden =
          outputs.empty() ? std::span<const float>()
                          : std::span<const float>(outputs[static_cast<size_t>(branch)].hidden);
      ReadHidden(branch, scope_begin_, hidden, PrefixOf(branch).last_hidden);
    }
  }

  PrefixCaches::Prefix& PrefixOf(int branch) {
    return prefixes_[static_cast<size_t>(branch)].Find(mix_);
  }

  Attention attention_;
  std::vector<PrefixCaches> prefixes_;  // by branch
  std::vector<int> filled_;             // branches whose prefix the current forward extends
};

}  // namespace

std::unique_ptr<Generation> MakeBlock(const Model& model, Plan plan,
                                      Generation::AdapterPolicy adapters) {
  return std::make_unique<BlockGeneration>(model, std::move(plan), std::move(adapters));
}

}  // namespace ruvd::inference::generation
