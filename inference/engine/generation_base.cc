// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/generation_base.h"

#include <cmath>
#include <memory>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference::generation {
namespace {

constexpr int kStabilityTokens = 16;  // they hold nearly all the mass of a settled position

ProposerOptions ProposerOf(const Plan& plan) {
  const SamplingOptions& options = plan.options;
  ProposerOptions proposer;
  proposer.choice = {.temperature = options.temperature,
                     .top_k = options.top_k,
                     .top_p = options.top_p,
                     .min_p = options.min_p,
                     .excluded = plan.mask};
  proposer.penalties = {.repetition = options.repetition_penalty,
                        .presence = options.presence_penalty,
                        .frequency = options.frequency_penalty,
                        .window = options.penalty_window,
                        .no_repeat_ngram = options.no_repeat_ngram};
  proposer.seed = options.seed;
  proposer.logprobs = options.logprobs;
  const bool stable =
      plan.mode != DecodingMode::kAutoregressive && plan.rule.kind == SamplerKind::kKlass;
  proposer.stability_tokens = stable ? kStabilityTokens : 0;
  return proposer;
}

}  // namespace

Base::Base(const Model& model, Plan plan, AdapterPolicy adapters)
    : plan_(std::move(plan)),
      tokens_(plan_.canvas),
      proposer_(ProposerOf(plan_)),
      policy_(std::move(adapters)),
      text_(model.tokenizer(), plan_.end_tokens, plan_.options.stop),
      text_position_(plan_.first_open) {
  if (plan_.options.constraint != nullptr) {
    constrained_ = std::make_unique<ConstrainedText>(plan_.options.constraint, plan_.end_tokens);
  }
}

FinishReason Base::finish_reason() const {
  switch (text_.end()) {
    case CompletionText::End::kEndOfText:
      return FinishReason::kEndOfText;
    case CompletionText::End::kStop:
      return FinishReason::kStop;
    case CompletionText::End::kNone:
      break;
  }
  return FinishReason::kLength;
}

std::string Base::sampler() const {
  return plan_.mode == DecodingMode::kAutoregressive ? std::string()
                                                     : std::string(SamplerName(plan_.rule.kind));
}

std::span<const ForwardInput> Base::NextForward() {
  RUVD_CHECK(!done_);
  if (!prepared_) {
    inputs_.clear();
    PrepareForward();
    prepared_ = true;
  }
  return inputs_;
}

void Base::TakeOutputs(std::span<const ForwardOutput> outputs) {
  RUVD_CHECK(prepared_ && outputs.size() == inputs_.size());
  forwards_ += static_cast<int>(outputs.size());
  prepared_ = false;
  UseOutputs(outputs);
}

void Base::ReleasePages() {
  prepared_ = false;
  inputs_.clear();
  DropCaches();
}

absl::Status Base::CheckSound(const Proposal& proposal) const {
  if (proposal.sound) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
               "the logits of position {} are not finite, so no token can be chosen; try again "
               "without adapters; if that fails, too, verify the model file",
               proposal.position);
}

void Base::Constrain(std::span<float> logits) {
  if (constrained_ != nullptr) {
    unmet_ = constrained_->Mask(logits);
  }
}

void Base::FollowConstraint(TokenId token) {
  if (constrained_ != nullptr) {
    constrained_->Add(token);
  }
}

void Base::SetInstantMemory(std::shared_ptr<const InstantMemory> memory, bool record) {
  RUVD_CHECK(steps_ == 0);
  memory_ = std::move(memory);
  record_ = record;
  if (record) {
    proposer_.EnableCandidates();
    trail_ = CommitTrail(plan_.config.width);
    trail_.Reserve(static_cast<size_t>(window()));
  }
}

void Base::SetTokenMemory(std::unique_ptr<MemoryReader> reader) {
  RUVD_CHECK(steps_ == 0);
  reader_ = std::move(reader);
}

void Base::AdjustLogits(const MemoryWindow& window, std::span<const int> positions,
                        std::span<const float> hidden, std::span<float> logits) {
  if (memory_ != nullptr && !positions.empty()) {
    memory_->Adjust(hidden, positions.size(), logits);
  }
  if (reader_ != nullptr) {
    reader_->Mix(window, positions, hidden, logits);
  }
}

void Base::RecordCommit(const Proposal& proposal, std::span<const float> hidden) {
  if (record_) {
    trail_.Add(proposal.position - plan_.first_open, proposal.token, proposal.probability, hidden,
               proposal.candidates);
  }
}

void Base::Watch(StepWatcher watcher) {
  RUVD_CHECK(steps_ == 0);
  watcher_ = std::move(watcher);
  proposer_.EnableMovements(kStabilityTokens);
}

PositionUncertainty Base::Assess(const Proposal& proposal) const {
  const float most = std::log(static_cast<float>(plan_.config.vocabulary));
  return {.entropy = proposal.entropy / most,
          .margin = proposal.margin,
          .confidence = proposal.confidence,
          .movement = proposal.movement};
}

void Base::ShowSignals(float t, std::span<const PositionUncertainty> positions,
                       std::span<const float> hidden) const {
  watcher_({.step = steps_ - 1, .t = t, .positions = positions, .hidden = hidden});
}

std::string Base::AdvanceText(int end, bool complete) {
  std::string text;
  if (end > text_position_) {
    const auto begin = static_cast<size_t>(text_position_);
    text = text_.Append(std::span(tokens_).subspan(begin, static_cast<size_t>(end) - begin));
    text_position_ = end;
  }
  if (complete) {
    text += text_.Finish();
  }
  done_ = complete || text_.end() != CompletionText::End::kNone;
  if (done_) {
    trail_.Truncate(text_.shown_tokens());
  }
  return text;
}

}  // namespace ruvd::inference::generation
