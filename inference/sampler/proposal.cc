// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/proposal.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "inference/kernels/kernel_table.h"
#include "inference/sampler/limits.h"

namespace ruvd::inference {

double RankingScore(CommitOrder order, const Proposal& proposal) {
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

Proposer::Proposer(const ProposerOptions& options)
    : options_(options),
      choice_(MakeTokenChoice(options.choice)),
      penalties_(options.penalties, options.choice.excluded),
      stability_(static_cast<size_t>(options.stability_tokens)),
      random_(options.seed) {}

Proposal Proposer::Propose(int position, std::span<float> logits,
                           std::span<const TokenId> forbidden) {
  Proposal proposal;
  proposal.position = position;
  const TokenId mask = options_.choice.excluded;
  const bool penalised = !options_.penalties.off() || !forbidden.empty();
  RowSummary plain;
  if (options_.logprobs >= 0) {
    plain = Summarise(logits, mask);
    proposal.likeliest = ReadLikeliest(logits, plain);
  }
  if (penalised) {
    penalties_.Apply(position, logits, forbidden);
  }
  const RowSummary summary = penalised || options_.logprobs < 0 ? Summarise(logits, mask) : plain;
  proposal.sound = std::isfinite(summary.log_mass);
  proposal.token = choice_->Choose(logits, summary, random_);
  proposal.confidence = summary.Probability(logits[proposal.token]);
  proposal.margin = summary.margin;
  proposal.entropy = summary.entropy;
  if (options_.logprobs >= 0) {
    const float logit =
        penalised ? penalties_.OriginalLogit(proposal.token, logits) : logits[proposal.token];
    proposal.logprob = plain.LogProbability(logit);
  }
  if (options_.stability_tokens > 0) {
    proposal.movement = stability_.Movement(position, logits, summary);
  }
  if (candidates_ && proposal.sound) {
    RowSummary before = summary;
    if (penalised) {
      before.log_mass = penalties_.Undo(logits, summary);
    }
    ReadCandidates(logits, before, &proposal);
  }
  return proposal;
}

void Proposer::EnableMovements(int tokens) {
  if (options_.stability_tokens == 0) {
    options_.stability_tokens = tokens;
    stability_ = StabilityTracker(static_cast<size_t>(tokens));
  }
}

void Proposer::ReadCandidates(std::span<float> logits, const RowSummary& summary,
                              Proposal* proposal) {
  const float scale = summary.maximum + summary.log_mass;
  if (places_.size() < logits.size()) {
    places_.resize(logits.size());
  }
  const size_t found = Kernels().find_above(
      logits.data(), logits.size(), scale + std::log(limits::kMinCandidate), places_.data());
  std::span<TokenId> kept = std::span(places_).first(found);
  kept = kept.first(static_cast<size_t>(
      std::remove(kept.begin(), kept.end(), options_.choice.excluded) - kept.begin()));
  if (kept.size() > limits::kMaxCandidates) {
    std::nth_element(kept.begin(), kept.begin() + limits::kMaxCandidates, kept.end(),
                     [logits](TokenId a, TokenId b) {
                       return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                     });
    kept = kept.first(limits::kMaxCandidates);
  }
  std::array<float, limits::kMaxCandidates> probabilities{};
  for (size_t i = 0; i < kept.size(); ++i) {
    probabilities[i] = std::min(logits[kept[i]] - scale, 0.0F);
  }
  ExpNonPositive(probabilities);
  proposal->candidates.reserve(kept.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    proposal->candidates.push_back({kept[i], probabilities[i]});
  }
  // Rounding can make the probability slightly larger than one.
  proposal->probability = std::min(summary.Probability(logits[proposal->token]), 1.0F);
}

std::vector<TokenLogprob> Proposer::ReadLikeliest(std::span<const float> logits,
                                                  const RowSummary& summary) const {
  std::vector<TokenLogprob> likeliest;
  if (options_.logprobs > 0) {
    constexpr float kAny = kForbidden / 2;  // what may not be written is not likely
    for (const TokenLogit& entry : TopTokens(logits, static_cast<size_t>(options_.logprobs), kAny,
                                             options_.choice.excluded)) {
      likeliest.push_back({entry.token, summary.LogProbability(entry.logit)});
    }
  }
  return likeliest;
}

int CountConfident(std::span<const Proposal> ranked, float threshold) {
  if (threshold <= 0 || ranked.empty()) {
    return 0;
  }
  const auto end = std::find_if(ranked.begin(), ranked.end(),
                                [&](const Proposal& p) { return p.confidence < threshold; });
  return std::max(1, static_cast<int>(end - ranked.begin()));
}

}  // namespace ruvd::inference
