// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/word_evidence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

namespace ruvd::inference {
namespace {

// The commonest tokens of public text: punctuation and words that every text has.
constexpr size_t kCommonest = 300;
// Occurrences in public text that the smoothing adds to the words of lessons
constexpr double kPseudoCounts = 1000;
// The share of words that texts like the lessons have from public text
constexpr double kPublicShare = 0.1;
// Known words after which the prompt's have lost half of what they lose
constexpr double kWordsToHalf = 2;
// A lesson's length in tokens, by which the public frequency of a token becomes the probability
// that a lesson has it at all
constexpr double kLessonTokens = 96;

// Returns each token once, ascending, without masks.
std::vector<TokenId> Distinct(std::span<const TokenId> tokens, std::optional<TokenId> mask) {
  std::vector<TokenId> distinct(tokens.begin(), tokens.end());
  if (mask) {
    std::erase(distinct, *mask);
  }
  std::ranges::sort(distinct);
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  return distinct;
}

}  // namespace

WordEvidence::WordEvidence(const LessonWords& words, std::span<const float> public_log_frequency)
    : log_ratios_(public_log_frequency.size()) {
  const size_t vocabulary = public_log_frequency.size();
  std::vector<size_t> order(vocabulary);
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t common = std::min(kCommonest, vocabulary / 2);
  std::ranges::nth_element(order, order.begin() + static_cast<ptrdiff_t>(common),
                           [&](size_t a, size_t b) {
                             return public_log_frequency[a] != public_log_frequency[b]
                                        ? public_log_frequency[a] > public_log_frequency[b]
                                        : a < b;
                           });
  std::vector<double> counts(vocabulary);
  for (const LessonWords::Count& count : words.counts) {
    counts[count.token] = count.lessons;
  }
  std::vector<double> shares(vocabulary);
  double public_sum = 0;
  double own_sum = 0;
  for (size_t i = common; i < vocabulary; ++i) {
    const size_t token = order[i];
    const auto frequency = std::exp(static_cast<double>(public_log_frequency[token]));
    shares[token] = -std::expm1(kLessonTokens * std::log1p(-std::min(frequency, 0.5)));
    public_sum += shares[token];
    own_sum += counts[token];
  }
  for (size_t i = common; i < vocabulary; ++i) {
    const size_t token = order[i];
    const double share = shares[token] / public_sum;
    const double own = (counts[token] + kPseudoCounts * share) / (own_sum + kPseudoCounts);
    const double like_them = (1 - kPublicShare) * own + kPublicShare * share;
    log_ratios_[token] = static_cast<float>(std::log(like_them / share));
  }
}

WordChooser::WordChooser(std::vector<std::shared_ptr<const WordEvidence>> adapters,
                         std::span<const TokenId> prompt, const WordChoiceOptions& options)
    : adapters_(std::move(adapters)), options_(options), prompt_(Distinct(prompt, std::nullopt)) {}

std::vector<double> WordChooser::Probabilities(std::span<const TokenId> completion,
                                               std::optional<TokenId> mask) const {
  const std::vector<TokenId> known = Distinct(completion, mask);
  const auto least = static_cast<double>(options_.prompt_share);
  const double prompt_share =
      least + (1 - least) / (1 + static_cast<double>(known.size()) / kWordsToHalf);
  std::vector<double> scores(adapters_.size() + 1);
  scores[0] = static_cast<double>(options_.reserve);
  for (size_t i = 0; i < adapters_.size(); ++i) {
    double& score = scores[i + 1];
    if (adapters_[i] == nullptr) {
      score = -std::numeric_limits<double>::infinity();
      continue;
    }
    for (const TokenId token : known) {
      score += adapters_[i]->Of(token);
    }
    for (const TokenId token : prompt_) {
      if (!std::ranges::binary_search(known, token)) {
        score += prompt_share * adapters_[i]->Of(token);
      }
    }
    score *= options_.strength;
  }
  const double best = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) {
    score = std::exp(score - best);
    sum += score;
  }
  for (double& score : scores) {
    score /= sum;
  }
  return scores;
}

std::vector<WordChoice> WordChooser::Choose(std::span<const TokenId> completion,
                                            std::optional<TokenId> mask) const {
  const std::vector<double> probabilities = Probabilities(completion, mask);
  std::vector<WordChoice> chosen;
  chosen.reserve(adapters_.size());
  for (size_t i = 0; i < adapters_.size(); ++i) {
    chosen.push_back({.adapter = i, .weight = static_cast<float>(probabilities[i + 1])});
  }
  std::ranges::stable_sort(chosen, std::ranges::greater(), &WordChoice::weight);
  chosen.resize(std::min(chosen.size(), options_.most));
  for (WordChoice& choice : chosen) {
    const bool likeliest = static_cast<double>(choice.weight) > probabilities[0];
    choice.weight =
        options_.most == 1 ? (likeliest ? 1.0F : 0.0F) : std::round(4 * choice.weight) / 4;
  }
  std::erase_if(chosen, [](const WordChoice& choice) { return choice.weight == 0; });
  return chosen;
}

}  // namespace ruvd::inference
