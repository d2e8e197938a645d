// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <utility>

#include "base/status.h"
#include "inference/engine/generation_base.h"
#include "inference/prefix/prefix_cache.h"

namespace ruvd::inference::generation {
namespace {

// Decodes token by token with causal attention and a key-value cache. The active window is the next
// token, so t is always 1. tokens() grows instead of starting with masks.
class AutoregressiveGeneration final : public Base {
 public:
  AutoregressiveGeneration(const Model& model, Plan plan, AdapterPolicy adapters)
      : Base(model, std::move(plan), std::move(adapters)),
        prefixes_(plan_.config, {.kind = Attention::Kind::kCausal}, plan_.open_end,
                  plan_.prefixes) {
    tokens_.resize(static_cast<size_t>(plan_.first_open));
  }

  LogitsInput NextLogits() const override {
    if (prefix_->last_hidden.empty()) {
      return {};
    }
    return {.hidden = prefix_->last_hidden, .adapters = &prefix_->mix};
  }
  int rows_together() const override { return 1; }
  void TakeLogits(std::span<float> logits) override {
    proposer_.Observe(tokens_);
    const int next = static_cast<int>(tokens_.size());
    AdjustLogits({.tokens = tokens_, .causal = true}, std::span(&next, 1), prefix_->last_hidden,
                 logits);
    Constrain(logits);
    proposal_ = proposer_.Propose(static_cast<int>(tokens_.size()), logits);
  }

  ForwardRoundResult EndRound() override {
    if (prefix_->last_hidden.empty()) {
      return std::nullopt;
    }
    RETURN_IF_ERROR(CheckConstraint());
    RETURN_IF_ERROR(CheckSound(proposal_));
    in_step_ = false;
    tokens_.push_back(proposal_.token);
    FollowConstraint(proposal_.token);
    RecordCommit(proposal_, prefix_->last_hidden);
    const PositionUncertainty uncertainty = Assess(proposal_);
    const int end = static_cast<int>(tokens_.size());
    StepResult result;
    result.step = steps_++;
    if (watched()) {
      ShowSignals(1, std::span(&uncertainty, 1), prefix_->last_hidden);
    }
    result.t = 1.0F;
    result.mean_entropy = proposal_.entropy;
    result.masked = plan_.open_end - end;
    result.commits.push_back({.position = end - 1 - plan_.first_open,
                              .token = proposal_.token,
                              .confidence = proposal_.confidence,
                              .logprob = proposal_.logprob,
                              .likeliest = std::move(proposal_.likeliest)});
    result.text = AdvanceText(end, result.masked == 0);
    result.done = done();
    result.adapters = prefix_->mix;
    return result;
  }

  size_t pages_held() const override { return prefixes_.pages_held(); }

 private:
  void PrepareForward() override {
    if (!in_step_) {
      prefix_ = &prefixes_.Find(AdaptersFor(1.0F));
      in_step_ = true;
    }
    std::optional<ForwardInput> missing = prefixes_.MissingForward(*prefix_, tokens_);
    NoteCached(prefix_->cache.length());
    if (missing.has_value()) {
      inputs_.push_back(*std::move(missing));
    }
  }
  void UseOutputs(std::span<const ForwardOutput> outputs) override {
    if (!outputs.empty()) {  // empty if another completion had the same prompt
      prefix_->last_hidden = outputs.front().hidden;
    }
  }

  void DropCaches() override { prefixes_.Release(); }

  PrefixCaches prefixes_;
  PrefixCaches::Prefix* prefix_ = nullptr;  // prefix of the current step
  Proposal proposal_;
  bool in_step_ = false;
};

}  // namespace

std::unique_ptr<Generation> MakeAutoregressive(const Model& model, Plan plan,
                                               Generation::AdapterPolicy adapters) {
  return std::make_unique<AutoregressiveGeneration>(model, std::move(plan), std::move(adapters));
}

}  // namespace ruvd::inference::generation
