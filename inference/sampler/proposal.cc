// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/proposal.h"

#include <algorithm>

namespace ruvd {
namespace {

double Score(CommitOrder order, const Proposal& proposal) {
  switch (order) {
    case CommitOrder::kConfidence:
      return proposal.confidence;
    case CommitOrder::kMargin:
      return proposal.margin;
    case CommitOrder::kEntropy:
      return -static_cast<double>(proposal.entropy);
    case CommitOrder::kPosition:
      return -static_cast<double>(proposal.position);
  }
  return 0;
}

}  // namespace

Proposer::Proposer(const TokenChoiceOptions& choice, float repetition_penalty, uint64_t seed)
    : choice_(MakeTokenChoice(choice)),
      excluded_(choice.excluded),
      repetition_penalty_(repetition_penalty),
      random_(seed) {}

Proposal Proposer::Propose(int position, std::span<float> logits,
                           std::span<const TokenId> context) {
  if (repetition_penalty_ > 0 && repetition_penalty_ != 1) {
    PenaliseRepetition(logits, context, repetition_penalty_);
  }
  const RowSummary summary = Summarise(logits, excluded_);
  Proposal proposal;
  proposal.position = position;
  proposal.token = choice_->Choose(logits, summary, random_);
  proposal.confidence = summary.Probability(logits[proposal.token]);
  proposal.margin = summary.margin;
  proposal.entropy = summary.entropy;
  return proposal;
}

std::vector<TokenId> DistinctTokens(std::span<const TokenId> tokens, TokenId mask) {
  std::vector<TokenId> distinct(tokens.begin(), tokens.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::erase(distinct, mask);
  return distinct;
}

void Rank(CommitOrder order, std::vector<Proposal>* proposals) {
  std::sort(proposals->begin(), proposals->end(), [order](const Proposal& a, const Proposal& b) {
    const double x = Score(order, a);
    const double y = Score(order, b);
    return x != y ? x > y : a.position < b.position;
  });
}

int CountConfident(std::span<const Proposal> ranked, float threshold) {
  if (threshold <= 0 || ranked.empty()) {
    return 0;
  }
  const auto end = std::find_if(ranked.begin(), ranked.end(),
                                [&](const Proposal& p) { return p.confidence < threshold; });
  return std::max(1, static_cast<int>(end - ranked.begin()));
}

}  // namespace ruvd
