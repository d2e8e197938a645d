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
// temperature 1, before penalties, at the moment when the logits of its position were read.
struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0;
};

// A token proposed for a masked position, and how sure the model is of it.
struct Proposal {
  int position = 0;
  TokenId token = 0;
  // Three values of the distribution that the token was drawn from, at temperature 1 and without
  // truncation: the softmax probability of `token`, the best minus the second-best probability, and
  // the entropy in nats.
  float confidence = 0;
  float margin = 0;
  float entropy = 0;
  // How far the prediction moved since the previous step (StabilityTracker); set only if asked for
  float movement = std::numeric_limits<float>::infinity();
  // False if the logits do not form a distribution (RowSummary::log_mass is not finite). Such a
  // proposal must not be committed.
  bool sound = true;
  // Set only if log-probabilities were asked for
  float logprob = 0;
  std::vector<TokenLogprob> likeliest = {};
  // Set only if candidates were asked for: the tokens that hold most of the mass, and the
  // probability of `token`, both under the softmax at temperature 1 before penalties
  std::vector<TokenProbability> candidates = {};
  float probability = 0;
};

// The order in which masked positions are committed, best first. Ties go to the lower position.
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
  // How many of the likeliest tokens to report with log-probabilities, besides the chosen one; -1:
  // no log-probabilities at all
  int logprobs = -1;
  // How many of the likeliest tokens the movement is measured on; 0: do not measure it
  int stability_tokens = 0;
};

// Turns rows of logits into proposals, one position after the other, so equal seeds and equal rows
// give equal proposals. Each Proposer owns its random numbers. Not thread-safe.
class Proposer {
 public:
  explicit Proposer(const ProposerOptions& options);
  // Sets the window (masks included) that the next rows belong to. It is borrowed until the next
  // call.
  void Observe(std::span<const TokenId> tokens) { penalties_.Observe(tokens); }
  // Changes `logits` if penalties are on. Tokens in `forbidden` are never proposed.
  Proposal Propose(int position, std::span<float> logits, std::span<const TokenId> forbidden = {});
  // Returns whether `token` at `position` would break no_repeat_ngram among `tokens` as they are
  // now.
  bool Repeats(std::span<const TokenId> tokens, int position, TokenId token) const {
    return penalties_.Repeats(tokens, position, token);
  }
  // Fills Proposal::candidates from now on: at most limits::kMaxCandidates tokens of probability at
  // least limits::kMinCandidate each. The proposed tokens do not change.
  void EnableCandidates() { candidates_ = true; }
  // Measures movements from now on, over that many of the likeliest tokens, unless this is on
  // already.
  void EnableMovements(int tokens);
  // Forgets the previous predictions, because they no longer hold.
  void ResetMovements() { stability_.Forget(); }

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

// The value that a ranking sorts by, largest first.
double RankingScore(CommitOrder order, const Proposal& proposal);

// Returns how many of the proposals, ranked by confidence, have at least this confidence, but at
// least one: the confidence-threshold rule of Fast-dLLM (arXiv 2505.22618). Returns 0 if the
// threshold is 0 (off) or there are no proposals.
int CountConfident(std::span<const Proposal> ranked, float threshold);

}  // namespace ruvd::inference
