// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>

#include "base/random.h"
#include "inference/sampler/distribution.h"

namespace ruvd::inference {

// How a token is drawn from a row of logits. Immutable; randomness comes from the caller.
class TokenChoice {
 public:
  virtual ~TokenChoice() = default;
  // `summary` is Summarise(logits, excluded); the excluded token is never chosen.
  virtual TokenId Choose(std::span<const float> logits, const RowSummary& summary,
                         Random& random) const = 0;
};

struct TokenChoiceOptions {
  float temperature = 0;        // 0: the likeliest token, whatever the other options say
  int top_k = 0;                // keep the k likeliest; 0: all
  float top_p = 0;              // keep the smallest set of that mass at temperature 1; 0: all
  float min_p = 0;              // drop tokens below this share of the likeliest's probability
  TokenId excluded = kNoToken;  // the mask token
};

// Greedy at temperature 0, else a draw from softmax(logit / temperature) over what top-k, then
// top-p, then min-p leave. The draw is by inversion, so one uniform number decides it.
std::unique_ptr<TokenChoice> MakeTokenChoice(const TokenChoiceOptions& options);

}  // namespace ruvd::inference
