// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "inference/sampler/distribution.h"

namespace ruvd::inference {

// What keeps a completion from repeating itself. Each looks at the tokens that are no masks, given
// ones included, within `window` positions of the one to be filled on either side; 0: at all.
struct PenaltyOptions {
  // Divides the logit of tokens that occur where positive, multiplies it where negative (CTRL,
  // arXiv 1909.05858, section 4.1); 0 and 1 are off.
  float repetition = 0;
  // Subtracted once from the logit of tokens that occur, and for every time they occur.
  float presence = 0;
  float frequency = 0;
  int window = 0;
  // No n tokens in a row, completed by the one to be filled, may occur anywhere twice; 0: off.
  // Looks at the whole text whatever the window. Tokens that are committed together must be checked
  // one after the other with Repeats.
  int no_repeat_ngram = 0;

  bool off() const {
    return (repetition == 0 || repetition == 1) && presence == 0 && frequency == 0 &&
           no_repeat_ngram == 0;
  }
};

// Applies them to rows of logits. Not thread-safe.
class Penalties {
 public:
  Penalties(const PenaltyOptions& options, TokenId mask) : options_(options), mask_(mask) {}

  // The tokens (masks included) that the next rows are about; borrowed until the next call.
  void Observe(std::span<const TokenId> tokens);
  // Changes the logits of `position`, which may lie right behind the tokens; those `forbidden`
  // become impossible, too.
  void Apply(int position, std::span<float> logits, std::span<const TokenId> forbidden);
  // Whether `token` at `position` of `tokens` (masks included) completes an n-gram that occurs
  // elsewhere; false where no_repeat_ngram is off.
  bool Repeats(std::span<const TokenId> tokens, int position, TokenId token) const;
  // What the logit of a token was before the last Apply to these logits.
  float OriginalLogit(TokenId token, std::span<const float> logits) const;
  // Takes the last Apply back. `summary` is that of `logits` as they are; returns the log_mass that
  // belongs to its maximum afterwards. Without another pass over the row, unless penalties gave
  // nearly all of the mass to the tokens that they changed.
  float Undo(std::span<float> logits, const RowSummary& summary);

 private:
  struct Count {
    TokenId token;
    int count;
  };
  void CountTokens(std::span<const TokenId> tokens);
  void BlockRepeatedNgrams(int position, std::span<float> logits);
  void Change(TokenId token, float logit, std::span<float> logits);

  PenaltyOptions options_;
  TokenId mask_;
  std::span<const TokenId> tokens_;
  std::vector<TokenId> sorted_;  // scratch
  std::vector<Count> counts_;
  std::vector<TokenLogit> originals_;  // of the changed tokens, the first of a token counts
  std::vector<float> masses_;          // scratch
};

}  // namespace ruvd::inference
