// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/penalties.h"

#include <algorithm>
#include <cmath>

namespace ruvd::inference {

void Penalties::Observe(std::span<const TokenId> tokens) {
  tokens_ = tokens;
  if (options_.window == 0 && !options_.off()) {
    CountTokens(tokens);
  }
}

void Penalties::Apply(int position, std::span<float> logits, std::span<const TokenId> forbidden) {
  originals_.clear();
  if (options_.window > 0 && !options_.off()) {
    const auto at = static_cast<size_t>(position);
    const auto reach = static_cast<size_t>(options_.window);
    const size_t begin = at > reach ? at - reach : 0;
    CountTokens(tokens_.subspan(begin, std::min(tokens_.size(), at + reach + 1) - begin));
  }
  const bool repetition = options_.repetition > 0 && options_.repetition != 1;
  for (const Count& entry : counts_) {
    float logit = logits[entry.token];
    if (repetition) {
      logit = logit > 0 ? logit / options_.repetition : logit * options_.repetition;
    }
    logit -= options_.presence + options_.frequency * static_cast<float>(entry.count);
    Change(entry.token, logit, logits);
  }
  if (options_.no_repeat_ngram > 0) {
    BlockRepeatedNgrams(position, logits);
  }
  for (const TokenId token : forbidden) {
    Change(token, kForbidden, logits);
  }
}

float Penalties::OriginalLogit(TokenId token, std::span<const float> logits) const {
  const auto found = std::find_if(originals_.begin(), originals_.end(),
                                  [token](const TokenLogit& t) { return t.token == token; });
  return found == originals_.end() ? logits[token] : found->logit;
}

float Penalties::Undo(std::span<float> logits, const RowSummary& summary) {
  float largest = summary.maximum;
  for (const TokenLogit& original : originals_) {
    largest = std::max(largest, original.logit);
  }
  masses_.clear();  // alternating: the mass that returns, the mass that is removed
  for (auto change = originals_.rbegin(); change != originals_.rend(); ++change) {
    float& logit = logits[change->token];
    masses_.push_back(change->logit - largest);
    masses_.push_back(std::min(logit, largest) - largest);
    logit = change->logit;
  }
  ExpNonPositive(masses_);
  const double penalised =
      std::exp(static_cast<double>(summary.maximum) + summary.log_mass - largest);
  double mass = penalised;
  for (size_t i = 0; i < masses_.size(); i += 2) {
    mass += static_cast<double>(masses_[i]) - masses_[i + 1];
  }
  // The difference of two float32 sums of nearly the same size consists mostly of rounding errors.
  constexpr double kMinShare = 0.01;
  if (!(mass >= kMinShare * penalised)) {
    const RowSummary restored = Summarise(logits, mask_);
    return static_cast<float>(static_cast<double>(restored.maximum) + restored.log_mass -
                              summary.maximum);
  }
  return static_cast<float>(std::log(mass)) + largest - summary.maximum;
}

void Penalties::Change(TokenId token, float logit, std::span<float> logits) {
  originals_.push_back({logits[token], token});
  logits[token] = logit;
}

void Penalties::CountTokens(std::span<const TokenId> tokens) {
  sorted_.assign(tokens.begin(), tokens.end());
  std::erase(sorted_, mask_);
  std::sort(sorted_.begin(), sorted_.end());
  counts_.clear();
  for (const TokenId token : sorted_) {
    if (counts_.empty() || counts_.back().token != token) {
      counts_.push_back({token, 0});
    }
    ++counts_.back().count;
  }
}

bool Penalties::Repeats(std::span<const TokenId> tokens, int position, TokenId token) const {
  const int n = options_.no_repeat_ngram;
  const int length = static_cast<int>(tokens.size());
  const auto at = [&](int i) { return i == position ? token : tokens[static_cast<size_t>(i)]; };
  for (int begin = std::max(0, position - n + 1); n > 0 && begin <= position && begin + n <= length;
       ++begin) {
    bool complete = true;
    for (int i = begin; complete && i < begin + n; ++i) {
      complete = at(i) != mask_;
    }
    for (int other = 0; complete && other + n <= length; ++other) {
      bool equal = other != begin;
      for (int i = 0; equal && i < n; ++i) {
        equal = at(other + i) == at(begin + i);
      }
      if (equal) {
        return true;
      }
    }
  }
  return false;
}

// Considers each of the n windows of n tokens around the position in which only this position is
// open. Finds the token that would make the window equal to another window (which may hold the
// position, too), and forbids that token.
void Penalties::BlockRepeatedNgrams(int position, std::span<float> logits) {
  const int n = options_.no_repeat_ngram;
  const int length = std::max(static_cast<int>(tokens_.size()), position + 1);
  const auto token = [&](int i, TokenId here) {
    return i == position ? here : tokens_[static_cast<size_t>(i)];
  };
  for (int begin = std::max(0, position - n + 1); begin <= position && begin + n <= length;
       ++begin) {
    bool complete = true;
    for (int i = begin; complete && i < begin + n; ++i) {
      complete = token(i, kNoToken) != mask_;
    }
    for (int other = 0; complete && other + n <= length; ++other) {
      if (other == begin) {
        continue;
      }
      const TokenId here = token(other + position - begin, mask_);
      bool equal = here != mask_;
      for (int i = 0; equal && i < n; ++i) {
        equal = token(other + i, here) == token(begin + i, here);
      }
      if (equal) {
        Change(here, kForbidden, logits);
      }
    }
  }
}

}  // namespace ruvd::inference
