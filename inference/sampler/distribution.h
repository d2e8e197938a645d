// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <limits>
#include <span>
#include <vector>

#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

// Stands for "no token is excluded".
inline constexpr TokenId kNoToken = std::numeric_limits<TokenId>::max();

// What a row of logits says about its position. Read in two passes, without copying the row.
struct RowSummary {
  TokenId best = 0;   // the likeliest token other than the excluded one, ties to the lower id
  float maximum = 0;  // the largest logit of the row, the excluded one included
  // Log of the sum of exp(logit - maximum) over the whole vocabulary; NaN where a logit is NaN or
  // positive infinity, and where none is finite. Then the rest has no meaning, but that `best` is a
  // token other than the excluded one.
  float log_mass = 0;
  float margin = 0;   // probability of `best` minus that of the runner-up
  float entropy = 0;  // of the whole vocabulary, in nats

  // Softmax probability of a token over the whole vocabulary, given its logit, and its logarithm.
  float Probability(float logit) const;
  float LogProbability(float logit) const { return logit - maximum - log_mass; }
};

// `excluded` (the mask token) is never the best token, but its mass stays in the denominator, as it
// did in training. The row holds at least two logits.
RowSummary Summarise(std::span<const float> logits, TokenId excluded);

// exp(x) for x <= 0 to a relative error below 3e-7; 0 below -87. Branch-free, so that the compiler
// vectorises loops over it, and free of libm, so that it is the same on every machine (degree-6
// polynomial on [-ln2/2, ln2/2]).
float ExpNonPositive(float x);
// The same of every element, in place.
void ExpNonPositive(std::span<float> x);

// The logit of a token that must not be chosen: far below any other, yet finite.
inline constexpr float kForbidden = -1e30F;

struct TokenLogit {
  float logit = 0;
  TokenId token = 0;
};

// The (at most) `count` likeliest tokens, 0 for any number, that have at least the logit `least`
// and are not `excluded`; likeliest first, ties to the lower id. One pass over the row that keeps
// no more than it returns.
std::vector<TokenLogit> LikeliestTokens(std::span<const float> logits, size_t count, float least,
                                        TokenId excluded);

// The tokens that have at least the logit `least` and are not `excluded`, in ascending order.
std::vector<TokenLogit> TokensFrom(std::span<const float> logits, float least, TokenId excluded);

// Sorts tokens: likeliest first, ties to the lower id. Their logits are numbers from `low` to
// `high`. Expected linear time where logits are spread like a model's.
void SortByLikelihood(float low, float high, std::vector<TokenLogit>* tokens);

}  // namespace ruvd::inference
