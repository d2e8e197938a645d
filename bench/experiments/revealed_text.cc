// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/revealed_text.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/status.h"
#include "inference/evaluate/nelbo.h"
#include "inference/sampler/distribution.h"
#include "inference/train/losses.h"

namespace ruvd::bench {

std::vector<bool> RandomSteps(size_t steps, int count, const inference::DgrOptions& options,
                              Random& random) {
  size_t allowed = 0;
  while (allowed < steps &&
         1.0F - static_cast<float>(allowed) / static_cast<float>(steps) >= options.min_t) {
    ++allowed;
  }
  const auto apart = static_cast<size_t>(std::max(1, options.min_interval));
  const size_t most = (allowed + apart - 1) / apart;
  const size_t wanted = std::min(most, static_cast<size_t>(std::max(0, count)));
  std::vector<bool> chosen(steps);
  if (wanted == 0) {
    return chosen;
  }
  // Choices that are apart are any choices from a shorter row, each moved by the gaps before it.
  std::vector<size_t> places(allowed - (wanted - 1) * (apart - 1));
  std::iota(places.begin(), places.end(), size_t{0});
  random.Shuffle(std::span(places));
  places.resize(wanted);
  std::ranges::sort(places);
  for (size_t i = 0; i < wanted; ++i) {
    chosen[places[i] + i * (apart - 1)] = true;
  }
  return chosen;
}

RevealedText::RevealedText(inference::Transformer& transformer,
                           const inference::ScoredDocument& document, std::vector<size_t> order,
                           size_t each)
    : transformer_(transformer), document_(document), order_(std::move(order)), each_(each) {
  RUVD_CHECK(order_.size() == document.completion.size() && each > 0);
}

float RevealedText::t() const {
  return static_cast<float>(order_.size() - revealed_) / static_cast<float>(order_.size());
}

std::vector<inference::TokenId> RevealedText::known() const {
  std::vector<inference::TokenId> tokens;
  for (size_t i = 0; i < revealed_; ++i) {
    tokens.push_back(document_.completion[order_[i]]);
  }
  return tokens;
}

absl::StatusOr<RevealedText::Reading> RevealedText::Read(
    const inference::AdapterMix* adapters) const {
  const inference::Model& model = transformer_.model();
  ASSIGN_OR_RETURN(const inference::train::TextRules rules, inference::train::RulesOf(model));
  std::vector<inference::TokenId> tokens = document_.prompt;
  tokens.insert(tokens.end(), document_.completion.begin(), document_.completion.end());
  std::vector<size_t> masked(order_.begin() + static_cast<std::ptrdiff_t>(revealed_), order_.end());
  const std::vector<size_t> next(
      masked.begin(), masked.begin() + static_cast<std::ptrdiff_t>(std::min(each_, masked.size())));
  std::ranges::sort(masked);
  inference::Corruption corruption{.masked = {}, .length = order_.size()};
  for (const size_t index : masked) {
    corruption.masked.push_back({.index = index});
  }
  const inference::CorruptedText text = inference::CorruptText(
      {.tokens = tokens, .first = document_.prompt.size()}, corruption, 0, rules.mask, rules.shift);
  inference::ForwardOutput output;
  RETURN_IF_ERROR(
      transformer_.Forward({.tokens = text.tokens,
                            .attention = text.attention,
                            .adapters = adapters,
                            .rows = std::vector<int>(text.rows.begin(), text.rows.end())},
                           &output));
  const auto vocabulary = static_cast<size_t>(model.config().vocabulary);
  std::vector<float> logits(masked.size() * vocabulary);
  transformer_.Logits(output.hidden, adapters, logits);
  Reading reading;
  for (size_t i = 0; i < masked.size(); ++i) {
    const auto row = std::span<const float>(logits).subspan(i * vocabulary, vocabulary);
    const inference::RowSummary summary = inference::Summarise(row, rules.mask);
    const double nats = -static_cast<double>(summary.LogProbability(row[text.targets[i]]));
    reading.open_nats += nats / static_cast<double>(masked.size());
    reading.next_nats += std::ranges::count(next, masked[i]) > 0 ? nats : 0;
    reading.positions.push_back(
        {.entropy = summary.entropy / std::log(static_cast<float>(vocabulary)),
         .margin = summary.margin,
         .confidence = summary.Probability(row[summary.best])});
  }
  reading.step = inference::UncertaintyOf(reading.positions, t());
  reading.hidden = std::move(output.hidden);
  return reading;
}

void RevealedText::Reveal() {
  revealed_ = std::min(order_.size(), revealed_ + each_);
}

}  // namespace ruvd::bench
