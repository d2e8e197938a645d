// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <limits>
#include <span>
#include <vector>

#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

// Means "no token is excluded".
inline constexpr TokenId kNoToken = std::numeric_limits<TokenId>::max();

// A summary of a row of logits. It is computed in two passes, without copying the row.
struct RowSummary {
  TokenId best = 0;   // the likeliest token other than the excluded one, ties to the lower id
  float maximum = 0;  // the largest logit of the row, including the excluded token
  // Log of the sum of exp(logit - maximum) over the whole vocabulary. It is NaN if a logit is NaN
  // or positive infinity, or if no logit is finite. Then the other fields have no meaning, except
  // that `best` is still a token other than the excluded one.
  float log_mass = 0;
  float margin = 0;   // probability of `best` minus that of the runner-up
  float entropy = 0;  // of the whole vocabulary, in nats

  // Return the softmax probability, and its logarithm, over the whole vocabulary of a token with
  // this logit.
  float Probability(float logit) const;
  float LogProbability(float logit) const { return logit - maximum - log_mass; }
};

// `excluded` (the mask token) is never the best token, but its mass stays in the denominator, as it
// did in training. The row must hold at least two logits.
RowSummary Summarise(std::span<const float> logits, TokenId excluded);

// Returns exp(x) for x <= 0 with a relative error below 3e-7, and 0 below -87. The code has no
// branches, so the compiler vectorises loops over it, and it does not use libm, so the result is
// the same on every machine (a polynomial of degree 6 on [-ln2/2, ln2/2]).
float ExpNonPositive(float x);
// Applies ExpNonPositive to every element in place.
void ExpNonPositive(std::span<float> x);

// The logit of a token that must not be chosen: far below any other, yet finite.
inline constexpr float kForbidden = -1e30F;

struct TokenLogit {
  float logit = 0;
  TokenId token = 0;
};

// Returns at most `count` likeliest tokens (0 means no limit) whose logit is at least `least` and
// that are not `excluded`, likeliest first, ties to the lower id. It makes one pass over the row
// and keeps no more tokens than it returns.
std::vector<TokenLogit> TopTokens(std::span<const float> logits, size_t count, float least,
                                  TokenId excluded);

// Returns the tokens whose logit is at least `least` and that are not `excluded`, in ascending
// order of id.
std::vector<TokenLogit> TokensAbove(std::span<const float> logits, float least, TokenId excluded);

// Sorts tokens: likeliest first, ties to the lower id. All logits must lie between `low` and
// `high`. The expected time is linear if the logits are spread as a model's usually are.
void SortByLikelihood(float low, float high, std::vector<TokenLogit>* tokens);

}  // namespace ruvd::inference
