// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/generation_base.h"

#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::generation {
namespace {

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
  constexpr int kStabilityTokens = 16;  // hold nearly all the mass of a position that is settled
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
      text_position_(plan_.first_open) {}

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
               "the logits of position {} are not finite, so no token can be chosen; try without "
               "adapters, and if that does not help verify the model file",
               proposal.position);
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
  return text;
}

}  // namespace ruvd::generation
