// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "inference/sampler/token_choice.h"

namespace ruvd {

// A token for a masked position, and how sure the model is of it.
struct Proposal {
  int position = 0;
  TokenId token = 0;
  float confidence = 0;  // softmax probability of `token` over the whole vocabulary
  float margin = 0;      // best minus second-best probability
  float entropy = 0;     // nats
};

// In which order masked positions are committed, best first. Ties go to the lower position.
enum class CommitOrder : unsigned char {
  kConfidence,  // LLaDA, MaskGIT
  kMargin,      // Dream's topk_margin
  kEntropy,     // lowest entropy first
  kPosition,    // left to right
};

// Turns rows of logits into proposals, one position after the other, so equal seeds and equal rows
// give equal proposals. Owns its random numbers: not thread-safe.
class Proposer {
 public:
  Proposer(const TokenChoiceOptions& choice, float repetition_penalty, uint64_t seed);
  // `logits` may be changed by the repetition penalty, which touches `context`: distinct tokens of
  // the window.
  Proposal Propose(int position, std::span<float> logits, std::span<const TokenId> context);

 private:
  std::unique_ptr<TokenChoice> choice_;
  TokenId excluded_;
  float repetition_penalty_;
  Random random_;
};

// The distinct tokens other than `mask`, ascending.
std::vector<TokenId> DistinctTokens(std::span<const TokenId> tokens, TokenId mask);

// Sorts best first.
void Rank(CommitOrder order, std::vector<Proposal>* proposals);

// How many of the ranked proposals have at least this confidence, never less than one: the
// confidence-threshold rule of Fast-dLLM (arXiv 2505.22618). 0 for a threshold of 0 (off) or no
// proposals. Only meaningful after Rank(kConfidence).
int CountConfident(std::span<const Proposal> ranked, float threshold);

}  // namespace ruvd
