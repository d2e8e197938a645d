// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "inference/sampler/commit_trail.h"
#include "inference/sampler/penalties.h"
#include "inference/sampler/stability.h"
#include "inference/sampler/token_choice.h"

namespace ruvd::inference {

// A token and its log-probability in nats: under the softmax over the whole vocabulary at
// temperature 1, before penalties, at the moment its position was read.
struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;
};

// A token for a masked position, and how sure the model is of it.
struct Proposal {
  int position = 0;
  TokenId token = 0;
  // Of the distribution that the token was drawn from, at temperature 1 and without truncation:
  // softmax probability of `token`, best minus second-best probability, entropy in nats.
  float confidence = 0;
  float margin = 0;
  float entropy = 0;
  // How far the prediction moved since the step before (StabilityTracker), where that is asked for.
  float movement = std::numeric_limits<float>::infinity();
  // False where the logits were no distribution (RowSummary::log_mass is not finite): the proposal
  // must not be committed.
  bool sound = true;
  // Where log-probabilities are asked for.
  float logprob = 0;
  std::vector<TokenLogprob> likeliest = {};
  // Where candidates are asked for: the tokens that hold most of the mass, and the probability of
  // `token`, both under the softmax at temperature 1 before penalties.
  std::vector<TokenProbability> candidates = {};
  float probability = 0;
};

// In which order masked positions are committed, best first. Ties go to the lower position.
enum class CommitOrder : unsigned char {
  kConfidence,  // LLaDA, MaskGIT
  kMargin,      // Dream's topk_margin
  kEntropy,     // lowest entropy first
  kPosition,    // left to right
};

struct ProposerOptions {
  TokenChoiceOptions choice;
  PenaltyOptions penalties = {};
  uint64_t seed = 0;
  // Log-probabilities of the chosen and so many of the likeliest tokens; -1: none.
  int logprobs = -1;
  // Likeliest tokens by which movements are measured; 0: movements are not asked for.
  int stability_tokens = 0;
};

// Turns rows of logits into proposals, one position after the other, so equal seeds and equal rows
// give equal proposals. Owns its random numbers: not thread-safe.
class Proposer {
 public:
  explicit Proposer(const ProposerOptions& options);
  // The window (masks included) that the next rows are about; borrowed until the next call.
  void Observe(std::span<const TokenId> tokens) { penalties_.Observe(tokens); }
  // Changes `logits` where penalties are on. Those `forbidden` are not proposed either.
  Proposal Propose(int position, std::span<float> logits, std::span<const TokenId> forbidden = {});
  // Whether `token` at `position` would break no_repeat_ngram among `tokens` as they are now.
  bool Repeats(std::span<const TokenId> tokens, int position, TokenId token) const {
    return penalties_.Repeats(tokens, position, token);
  }
  // Gives the next proposals their candidates, at most limits::kMaxCandidates of at least
  // limits::kMinCandidate each. Their tokens stay the same.
  void AskForCandidates() { candidates_ = true; }
  // Measures movements from now on, by so many of the likeliest tokens, if it does not yet.
  void AskForMovements(int tokens);
  // What is known of positions no longer holds.
  void ForgetMovements() { stability_.Forget(); }

 private:
  void ReadCandidates(std::span<float> logits, const RowSummary& summary, Proposal* proposal);
  std::vector<TokenLogprob> ReadLikeliest(std::span<const float> logits,
                                          const RowSummary& summary) const;

  ProposerOptions options_;
  std::unique_ptr<TokenChoice> choice_;
  Penalties penalties_;
  StabilityTracker stability_;
  Random random_;
  bool candidates_ = false;
  std::vector<uint32_t> places_;  // scratch
};

// What a ranking sorts by, largest first.
double RankingScore(CommitOrder order, const Proposal& proposal);

// How many of the proposals, ranked by confidence, have at least this confidence, never less than
// one: the confidence-threshold rule of Fast-dLLM (arXiv 2505.22618). 0 for a threshold of 0 (off)
// or no proposals.
int CountConfident(std::span<const Proposal> ranked, float threshold);

}  // namespace ruvd::inference
