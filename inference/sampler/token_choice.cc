// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/token_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace ruvd {
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
    return summary.best;  // the uniform number fell into the last rounding error
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

// Draws from what top-k, the nucleus of mass p and min-p leave, in this order.
class TruncatedChoice final : public TokenChoice {
 public:
  explicit TruncatedChoice(const TokenChoiceOptions& options) : options_(options) {}

  TokenId Choose(std::span<const float> logits, const RowSummary& summary,
                 Random& random) const override {
    const std::vector<TokenLogit> kept = Keep(logits, summary);
    const float inverse = 1.0F / options_.temperature;
    double mass = 0;
    for (const TokenLogit& entry : kept) {
      mass += ExpNonPositive((entry.logit - summary.maximum) * inverse);
    }
    double left = random.Uniform() * mass;
    for (const TokenLogit& entry : kept) {
      left -= ExpNonPositive((entry.logit - summary.maximum) * inverse);
      if (left < 0) {
        return entry.token;
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
    // Tokens below (1 - p) / V add up to less than 1 - p, so the nucleus never reaches them: only
    // the few above need sorting.
    const bool nucleus = options_.top_p > 0 && options_.top_p < 1;
    if (nucleus) {
      const float floor = std::log((1.0F - options_.top_p) / static_cast<float>(logits.size()));
      least = std::max(least, summary.maximum + summary.log_mass + floor);
    }
    std::vector<TokenLogit> kept =
        LikeliestTokens(logits, static_cast<size_t>(options_.top_k), least, options_.excluded);
    if (kept.empty()) {
      return {{logits[summary.best], summary.best}};
    }
    if (nucleus) {
      CutNucleus(summary, &kept);
    }
    return kept;
  }

  void CutNucleus(const RowSummary& summary, std::vector<TokenLogit>* kept) const {
    double mass = 0;
    for (size_t i = 0; i < kept->size(); ++i) {
      mass += summary.Probability((*kept)[i].logit);
      if (mass >= options_.top_p) {
        kept->resize(i + 1);
        return;
      }
    }
  }

  TokenChoiceOptions options_;
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

}  // namespace ruvd
