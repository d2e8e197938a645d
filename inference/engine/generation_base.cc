// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/generation_base.h"

#include <algorithm>
#include <utility>

#include "inference/limits.h"

namespace ruvd::generation {

Base::Base(const Model& model, Plan plan, std::vector<TokenId> prompt, AdapterPolicy adapters)
    : plan_(std::move(plan)),
      tokens_(std::move(prompt)),
      prompt_length_(static_cast<int>(tokens_.size())),
      proposer_({.temperature = plan_.options.temperature,
                 .top_k = plan_.options.top_k,
                 .top_p = plan_.options.top_p,
                 .excluded = plan_.mask},
                plan_.options.repetition_penalty, plan_.options.seed),
      policy_(std::move(adapters)),
      text_(model.tokenizer(), plan_.end_of_text, plan_.options.stop),
      text_position_(prompt_length_) {}

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

std::string Base::AdvanceText(int end, bool complete) {
  const auto begin = static_cast<size_t>(text_position_);
  std::string text =
      text_.Append(std::span(tokens_).subspan(begin, static_cast<size_t>(end) - begin));
  text_position_ = end;
  if (complete) {
    text += text_.Finish();
  }
  done_ = complete || text_.end() != CompletionText::End::kNone;
  return text;
}

MaskedBase::MaskedBase(const Model& model, Plan plan, std::vector<TokenId> prompt,
                       AdapterPolicy adapters)
    : Base(model, std::move(plan), std::move(prompt), std::move(adapters)),
      active_end_(prompt_length_ + plan_.max_tokens) {
  tokens_.resize(static_cast<size_t>(active_end_), plan_.mask);
}

std::vector<int> MaskedBase::Masked(int begin, int end) const {
  std::vector<int> positions;
  for (int i = std::max(begin, prompt_length_); i < std::min(end, active_end_); ++i) {
    if (tokens_[static_cast<size_t>(i)] == plan_.mask) {
      positions.push_back(i);
    }
  }
  return positions;
}

std::vector<Proposal> MaskedBase::ProposeAll(Transformer& transformer, const AdapterMix& mix,
                                             std::span<const int> positions,
                                             std::span<const float> hidden) {
  const auto width = static_cast<size_t>(plan_.config.width);
  const auto vocabulary = static_cast<size_t>(plan_.config.vocabulary);
  const std::vector<TokenId> context = DistinctTokens(tokens_, plan_.mask);
  std::vector<float> logits(std::min(positions.size(), limits::kLogitRows) * vocabulary);
  std::vector<Proposal> proposals;
  for (size_t first = 0; first < positions.size(); first += limits::kLogitRows) {
    const size_t rows = std::min(limits::kLogitRows, positions.size() - first);
    const std::span<float> part = std::span(logits).first(rows * vocabulary);
    transformer.Logits(hidden.subspan(first * width, rows * width), &mix, part);
    for (size_t row = 0; row < rows; ++row) {
      proposals.push_back(proposer_.Propose(positions[first + row],
                                            part.subspan(row * vocabulary, vocabulary), context));
    }
  }
  return proposals;
}

StepResult MaskedBase::CommitBest(Transformer& transformer, const AdapterMix& mix,
                                  std::span<const int> positions, std::span<const float> hidden,
                                  int count) {
  std::vector<Proposal> ranked = ProposeAll(transformer, mix, positions, hidden);
  Rank(CommitOrder::kConfidence, &ranked);
  count = std::max(count, CountConfident(ranked, plan_.options.confidence_threshold));
  StepResult result;
  result.step = steps_++;
  double entropy = 0;
  for (const Proposal& proposal : ranked) {
    entropy += proposal.entropy;
  }
  result.mean_entropy = static_cast<float>(entropy / static_cast<double>(ranked.size()));
  for (const Proposal& proposal : std::span(ranked).first(static_cast<size_t>(count))) {
    tokens_[static_cast<size_t>(proposal.position)] = proposal.token;
    if (plan_.end_of_text == proposal.token) {
      active_end_ = std::min(active_end_, proposal.position + 1);
    }
    result.commits.push_back(
        {proposal.position - prompt_length_, proposal.token, proposal.confidence});
  }
  std::sort(result.commits.begin(), result.commits.end(),
            [](const Commit& a, const Commit& b) { return a.position < b.position; });
  const std::vector<int> left = Masked(prompt_length_, active_end_);
  result.masked = static_cast<int>(left.size());
  result.text = AdvanceText(left.empty() ? active_end_ : left.front(), left.empty());
  result.done = done();
  return result;
}

}  // namespace ruvd::generation
