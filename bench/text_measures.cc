// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/text_measures.h"

#include <algorithm>
#include <map>

#include "base/random.h"

namespace ruvd::bench {
namespace {

std::map<std::vector<inference::TokenId>, int> CountNgrams(
    std::span<const inference::TokenId> tokens, size_t n) {
  std::map<std::vector<inference::TokenId>, int> counts;
  for (size_t i = 0; i + n <= tokens.size(); ++i) {
    const std::span<const inference::TokenId> ngram = tokens.subspan(i, n);
    ++counts[std::vector<inference::TokenId>(ngram.begin(), ngram.end())];
  }
  return counts;
}

}  // namespace

double Distinct(std::span<const inference::TokenId> tokens, size_t n) {
  if (tokens.size() < n) {
    return 1;
  }
  return static_cast<double>(CountNgrams(tokens, n).size()) /
         static_cast<double>(tokens.size() - n + 1);
}

bool Loops(std::span<const inference::TokenId> tokens) {
  constexpr size_t kLongestPiece = 16;
  constexpr size_t kShortestLoop = 6;
  for (size_t piece = 1; piece <= kLongestPiece; ++piece) {
    size_t run = 0;  // tokens in a row that equal the one a piece before
    for (size_t i = piece; i < tokens.size(); ++i) {
      run = tokens[i] == tokens[i - piece] ? run + 1 : 0;
      if (run >= 2 * piece && run + piece >= kShortestLoop) {
        return true;
      }
    }
  }
  const auto counts = CountNgrams(tokens, 4);
  return std::any_of(counts.begin(), counts.end(),
                     [](const auto& entry) { return entry.second >= 3; });
}

GroupInterval BootstrapMean(const std::vector<std::vector<double>>& values) {
  constexpr int kSamples = 1000;
  const auto mean_of = [&](auto&& pick) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      for (const double value : values[pick(i)]) {
        sum += value;
        ++count;
      }
    }
    return sum / static_cast<double>(count);
  };
  Random random(1);
  std::vector<double> means;
  for (int sample = 0; sample < kSamples; ++sample) {
    means.push_back(mean_of([&](size_t) { return random.Below(values.size()); }));
  }
  std::sort(means.begin(), means.end());
  return {.mean = mean_of([](size_t i) { return i; }),
          .low = means[kSamples / 40],
          .high = means[kSamples - 1 - kSamples / 40]};
}

}  // namespace ruvd::bench
