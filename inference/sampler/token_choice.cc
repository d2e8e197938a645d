// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/token_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace ruvd::inference {
namespace {

class GreedyChoice final : public TokenChoice {
 public:
  TokenId Choose(std::span<const float>, const RowSummary& summary, Random&) const override {
    return summary.best;
  }
};

// Draws from the whole vocabulary in two passes over the row.
class TemperatureChoice final : public TokenChoice {
 public:
  explicit TemperatureChoice(const TokenChoiceOptions& options)
      : inverse_(1.0F / options.temperature), excluded_(options.excluded) {}

  TokenId Choose(std::span<const float> logits, const RowSummary& summary,
                 Random& random) const override {
    double mass = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      mass += Weight(logits, i, summary);
    }
    double left = random.Uniform() * mass;
    for (size_t i = 0; i < logits.size(); ++i) {
      left -= Weight(logits, i, summary);
      if (left < 0) {
        return static_cast<TokenId>(i);
      }
    }
    return summary.best;  // rounding error: the uniform number lies beyond the sum of the shares
  }

 private:
  double Weight(std::span<const float> logits, size_t i, const RowSummary& summary) const {
    return static_cast<TokenId>(i) == excluded_
               ? 0.0
               : ExpNonPositive((logits[i] - summary.maximum) * inverse_);
  }

  float inverse_;
  TokenId excluded_;
};

// Draws from the tokens that remain after top-k, top-p (the nucleus of mass p) and min-p, in this
// order.
class TruncatedChoice final : public TokenChoice {
 public:
  explicit TruncatedChoice(const TokenChoiceOptions& options)
      : options_(options), nucleus_(options.top_p > 0 && options.top_p < 1) {}

  TokenId Choose(std::span<const float> logits, const RowSummary& summary,
                 Random& random) const override {
    const std::vector<TokenLogit> kept = Keep(logits, summary);
    const float inverse = 1.0F / options_.temperature;
    std::vector<float> weights(kept.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      weights[i] = (kept[i].logit - summary.maximum) * inverse;
    }
    ExpNonPositive(weights);
    double left = random.Uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
    for (size_t i = 0; i < kept.size(); ++i) {
      left -= weights[i];
      if (left < 0) {
        return kept[i].token;
      }
    }
    return summary.best;
  }

 private:
  // The surviving tokens, likeliest first, ties to the lower id.
  std::vector<TokenLogit> Keep(std::span<const float> logits, const RowSummary& summary) const {
    float least = -std::numeric_limits<float>::infinity();
    if (options_.min_p > 0) {
      least = logits[summary.best] + std::log(options_.min_p);
    }
    if (nucleus_) {
      return KeepNucleus(logits, summary, least);
    }
    std::vector<TokenLogit> kept =
        TopTokens(logits, static_cast<size_t>(options_.top_k), least, options_.excluded);
    return kept.empty() ? Best(logits, summary) : kept;
  }

  // Sorting is the expensive part. It therefore begins with the tokens that are not much less
  // likely than the average token, and adds less likely ones only while the nucleus is incomplete.
  std::vector<TokenLogit> KeepNucleus(std::span<const float> logits, const RowSummary& summary,
                                      float least) const {
    constexpr float kStep = 4;  // nats
    const float scale = summary.maximum + summary.log_mass;
    // Tokens below (1 - p) / V add up to less than 1 - p, so the nucleus never reaches them.
    const float floor = std::log((1.0F - options_.top_p) / static_cast<float>(logits.size()));
    least = std::max(least, scale + floor);
    float bound = scale - summary.entropy;
    while (true) {
      bound = std::max(least, bound - kStep);
      std::vector<TokenLogit> kept = TokensAbove(logits, bound, options_.excluded);
      SortByLikelihood(bound, logits[summary.best], &kept);
      const bool full = options_.top_k > 0 && kept.size() >= static_cast<size_t>(options_.top_k);
      if (full) {
        kept.resize(static_cast<size_t>(options_.top_k));
      }
      // The condition is negated so that a NaN bound ends the search, too.
      if (CutNucleus(summary, &kept) || full || !(bound > least)) {
        return kept.empty() ? Best(logits, summary) : kept;
      }
    }
  }

  // Returns whether the tokens hold the mass p. If so, only the tokens needed for it are kept.
  bool CutNucleus(const RowSummary& summary, std::vector<TokenLogit>* kept) const {
    std::vector<float> shares(kept->size());
    for (size_t i = 0; i < shares.size(); ++i) {
      shares[i] = summary.LogProbability((*kept)[i].logit);
    }
    ExpNonPositive(shares);
    double mass = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      mass += shares[i];
      if (mass >= options_.top_p) {
        kept->resize(i + 1);
        return true;
      }
    }
    return false;
  }

  static std::vector<TokenLogit> Best(std::span<const float> logits, const RowSummary& summary) {
    return {{logits[summary.best], summary.best}};
  }

  TokenChoiceOptions options_;
  bool nucleus_;
};

}  // namespace

std::unique_ptr<TokenChoice> MakeTokenChoice(const TokenChoiceOptions& options) {
  if (options.temperature <= 0) {
    return std::make_unique<GreedyChoice>();
  }
  if (options.top_k > 0 || (options.top_p > 0 && options.top_p < 1) || options.min_p > 0) {
    return std::make_unique<TruncatedChoice>(options);
  }
  return std::make_unique<TemperatureChoice>(options);
}

}  // namespace ruvd::inference
