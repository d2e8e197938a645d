// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <limits>
#include <span>

#include "inference/tokenizer/tokenizer.h"

namespace ruvd {

// Stands for "no token is excluded".
inline constexpr TokenId kNoToken = std::numeric_limits<TokenId>::max();

// What a row of logits says about its position. Read in two passes, without copying the row.
struct RowSummary {
  TokenId best = 0;    // the likeliest token other than the excluded one, ties to the lower id
  float maximum = 0;   // the largest logit of the row, the excluded one included
  float log_mass = 0;  // log of the sum of exp(logit - maximum) over the whole vocabulary
  float margin = 0;    // probability of `best` minus that of the runner-up
  float entropy = 0;   // of the whole vocabulary, in nats

  // Softmax probability of a token over the whole vocabulary, given its logit.
  float Probability(float logit) const;
};

// `excluded` (the mask token) is never the best token, but its mass stays in the denominator, as it
// did in training. The row holds at least two logits.
RowSummary Summarise(std::span<const float> logits, TokenId excluded);

// exp(x) for x <= 0 to a relative error below 3e-7; 0 below -87. Branch-free, so that the compiler
// vectorises loops over it, and free of libm, so that it is the same on every machine (degree-6
// polynomial on [-ln2/2, ln2/2]).
float ExpNonPositive(float x);

// Divides the logits of `tokens` by `penalty` where positive and multiplies them where negative
// (CTRL, arXiv 1909.05858, section 4.1). `tokens` must be distinct.
void PenaliseRepetition(std::span<float> logits, std::span<const TokenId> tokens, float penalty);

}  // namespace ruvd
