// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "inference/sampler/distribution.h"

namespace ruvd::inference {

// Penalties that keep a completion from repeating itself. Each one looks at the unmasked tokens,
// the given ones included, within `window` positions on either side of the position to be filled; a
// window of 0 means the whole text.
struct PenaltyOptions {
  // Divides the logit of a token that occurs if the logit is positive, and multiplies it if it is
  // negative (CTRL, arXiv 1909.05858, section 4.1). Values 0 and 1 turn it off.
  float repetition = 0;
  // `presence` is subtracted once from the logit of each token that occurs, `frequency` once for
  // each occurrence.
  float presence = 0;
  float frequency = 0;
  int window = 0;
  // No n consecutive tokens that include the position to be filled may occur twice in the text; 0:
  // off. This looks at the whole text whatever the window is. Tokens that are committed together
  // must be checked one after the other with Repeats.
  int no_repeat_ngram = 0;

  bool off() const {
    return (repetition == 0 || repetition == 1) && presence == 0 && frequency == 0 &&
           no_repeat_ngram == 0;
  }
};

// Applies the penalties to rows of logits. Not thread-safe.
class Penalties {
 public:
  Penalties(const PenaltyOptions& options, TokenId mask) : options_(options), mask_(mask) {}

  // Sets the tokens (masks included) that the next rows belong to. They are borrowed until the next
  // call.
  void Observe(std::span<const TokenId> tokens);
  // Changes the logits of `position`, which may be the position right after the last token. Tokens
  // in `forbidden` become impossible.
  void Apply(int position, std::span<float> logits, std::span<const TokenId> forbidden);
  // Returns whether `token` at `position` of `tokens` (masks included) completes an n-gram that
  // occurs elsewhere. Always false if no_repeat_ngram is off.
  bool Repeats(std::span<const TokenId> tokens, int position, TokenId token) const;
  // Returns the logit that a token had before the last Apply to these logits.
  float OriginalLogit(TokenId token, std::span<const float> logits) const;
  // Reverts the last Apply. `summary` must be the summary of `logits` as they are; the function
  // returns the log_mass relative to its maximum after the revert. This takes no further pass over
  // the row, unless the penalties left nearly all of the mass to the tokens that they changed.
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
  // of the changed tokens; the first entry of a token holds its original
  std::vector<TokenLogit> originals_;
  std::vector<float> masses_;  // scratch
};

}  // namespace ruvd::inference
