// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>

#include "base/random.h"
#include "inference/sampler/distribution.h"

namespace ruvd::inference {

// Chooses a token from a row of logits. Immutable; the caller supplies the randomness.
class TokenChoice {
 public:
  virtual ~TokenChoice() = default;
  // `summary` is Summarise(logits, excluded). The excluded token is never chosen.
  virtual TokenId Choose(std::span<const float> logits, const RowSummary& summary,
                         Random& random) const = 0;
};

struct TokenChoiceOptions {
  float temperature = 0;        // 0: the likeliest token, and the other options are ignored
  int top_k = 0;                // keep the k likeliest; 0: all
  float top_p = 0;              // keep the smallest set with that mass at temperature 1; 0: all
  float min_p = 0;              // drop tokens below this share of the likeliest's probability
  TokenId excluded = kNoToken;  // the mask token
};

// At temperature 0 the choice is greedy. Otherwise it is a draw from softmax(logit / temperature)
// over the tokens that remain after top-k, then top-p, then min-p. The draw uses inversion, so it
// takes exactly one uniform random number.
std::unique_ptr<TokenChoice> MakeTokenChoice(const TokenChoiceOptions& options);

}  // namespace ruvd::inference
