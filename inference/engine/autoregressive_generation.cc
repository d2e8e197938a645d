// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <utility>

#include "base/status.h"
#include "inference/engine/generation_base.h"
#include "inference/engine/prefix_cache.h"

namespace ruvd::generation {
namespace {

// Token by token with causal attention and a key-value cache. The active window is the next token,
// so t is always 1; tokens() grows instead of starting as masks.
class AutoregressiveGeneration final : public Base {
 public:
  AutoregressiveGeneration(const Model& model, Plan plan, std::vector<TokenId> prompt,
                           AdapterPolicy adapters)
      : Base(model, std::move(plan), std::move(prompt), std::move(adapters)),
        prefixes_(plan_.config, {.kind = Attention::Kind::kCausal},
                  prompt_length_ + plan_.max_tokens) {}

  absl::StatusOr<StepResult> Step(Transformer& transformer) override {
    RUVD_CHECK(!done());
    const AdapterMix mix = AdaptersFor(1.0F);
    ASSIGN_OR_RETURN(const PrefixCaches::Prefix prefix,
                     prefixes_.Extend(transformer, tokens_, mix, &forwards_));
    std::vector<float> logits(static_cast<size_t>(plan_.config.vocabulary));
    transformer.Logits(prefix.last_hidden, &mix, logits);
    const int position = static_cast<int>(tokens_.size());
    const Proposal proposal =
        proposer_.Propose(position, logits, DistinctTokens(tokens_, plan_.mask));
    tokens_.push_back(proposal.token);
    StepResult result;
    result.step = steps_++;
    result.t = 1.0F;
    result.mean_entropy = proposal.entropy;
    result.masked = prompt_length_ + plan_.max_tokens - position - 1;
    result.commits = {{position - prompt_length_, proposal.token, proposal.confidence}};
    result.text = AdvanceText(position + 1, result.masked == 0);
    result.done = done();
    return result;
  }

 private:
  PrefixCaches prefixes_;
};

}  // namespace

std::unique_ptr<Generation> MakeAutoregressive(const Model& model, Plan plan,
                                               std::vector<TokenId> prompt,
                                               Generation::AdapterPolicy adapters) {
  return std::make_unique<AutoregressiveGeneration>(model, std::move(plan), std::move(prompt),
                                                    std::move(adapters));
}

}  // namespace ruvd::generation
