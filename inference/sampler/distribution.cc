// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/distribution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "inference/kernels/kernel_table.h"

namespace ruvd::inference {
namespace {

inline float Exp(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to the nearest integer
  const bool is_normal = x >= -87.0F;    // false for a value that is not a number
  const float clamped = is_normal ? x : -87.0F;
  const float shifted = clamped * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const auto exponent = static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23;
  const float small = x < -87.0F ? 0.0F : x;
  return is_normal ? p * std::bit_cast<float>(exponent) : small;
}

// The two largest logits, without the excluded token.
TopTwo FindTopTwo(const KernelTable& kernels, std::span<const float> logits, TokenId excluded) {
  if (excluded >= logits.size()) {
    return kernels.top_two(logits.data(), logits.size());
  }
  const std::span<const float> behind = logits.subspan(excluded + size_t{1});
  TopTwo top = kernels.top_two(logits.data(), excluded);
  TopTwo other = kernels.top_two(behind.data(), behind.size());
  other.place += excluded + size_t{1};
  if (behind.empty() || (excluded > 0 && top.first >= other.first)) {
    top.second = std::max(top.second, other.first);
    return top;
  }
  other.second = std::max(other.second, top.first);
  return other;
}

bool Likelier(const TokenLogit& a, const TokenLogit& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

void InsertionSort(std::span<TokenLogit> tokens) {
  for (size_t i = 1; i < tokens.size(); ++i) {
    const TokenLogit entry = tokens[i];
    size_t at = i;
    for (; at > 0 && Likelier(entry, tokens[at - 1]); --at) {
      tokens[at] = tokens[at - 1];
    }
    tokens[at] = entry;
  }
}

// If the logits differ by less than this, intervals cannot separate them.
constexpr float kMinSpread = 1e-20F;

// Sorts by distributing the tokens over intervals of equal width (more intervals than tokens) and
// then sorting inside each interval.
void DivideByLogit(float low, float high, std::vector<TokenLogit>* tokens) {
  constexpr size_t kMaxIntervals = 4096;
  constexpr size_t kCrowd = 16;  // insertion sort would be too slow for more tokens than this
  const size_t intervals = std::min(kMaxIntervals, 2 * std::bit_ceil(tokens->size()));
  const float scale = static_cast<float>(intervals - 1) / (high - low);
  // Rounding is monotone, so a higher logit never lands in a later interval.
  const auto interval_of = [&](const TokenLogit& entry) {
    return static_cast<size_t>((high - entry.logit) * scale);
  };
  std::vector<uint32_t> ends(intervals + 1);
  for (const TokenLogit& entry : *tokens) {
    ++ends[interval_of(entry) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<TokenLogit> sorted(tokens->size());
  for (const TokenLogit& entry : *tokens) {  // ends[i]: where the next token of interval i goes
    sorted[ends[interval_of(entry)]++] = entry;
  }
  size_t begin = 0;
  for (size_t i = 0; i < intervals; ++i) {
    if (ends[i] - begin > kCrowd) {
      std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                sorted.begin() + static_cast<std::ptrdiff_t>(ends[i]), Likelier);
    }
    begin = ends[i];
  }
  InsertionSort(sorted);
  *tokens = std::move(sorted);
}

}  // namespace

float ExpNonPositive(float x) {
  return Exp(x);
}

void ExpNonPositive(std::span<float> x) {
  for (float& value : x) {
    value = Exp(value);
  }
}

float RowSummary::Probability(float logit) const {
  return std::exp(logit - maximum - log_mass);
}

RowSummary Summarise(std::span<const float> logits, TokenId excluded) {
  const KernelTable& kernels = Kernels();
  const TopTwo top = FindTopTwo(kernels, logits, excluded);
  RowSummary summary;
  summary.best = static_cast<TokenId>(top.place);
  summary.maximum = top.first;
  if (excluded < logits.size()) {
    summary.maximum = std::max(summary.maximum, logits[excluded]);
  }
  const ExpSums sums = kernels.exp_sums(logits.data(), logits.size(), summary.maximum);
  summary.log_mass = static_cast<float>(std::log(sums.mass));
  summary.margin = summary.Probability(top.first) - summary.Probability(top.second);
  summary.entropy =
      static_cast<float>(std::max(0.0, std::log(sums.mass) - sums.energy / sums.mass));
  return summary;
}

std::vector<TokenLogit> TopTokens(std::span<const float> logits, size_t count, float least,
                                  TokenId excluded) {
  if (count == 0) {
    std::vector<TokenLogit> kept = TokensAbove(logits, least, excluded);
    std::sort(kept.begin(), kept.end(), Likelier);
    return kept;
  }
  std::vector<TokenLogit> kept;  // once full, a heap with the least likely one in front
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] >= least) || static_cast<TokenId>(i) == excluded) {
      continue;
    }
    if (kept.size() < count) {
      kept.push_back({logits[i], static_cast<TokenId>(i)});
      if (kept.size() == count) {
        std::make_heap(kept.begin(), kept.end(), Likelier);
        least = kept.front().logit;
      }
    } else if (logits[i] > least) {  // an equal logit belongs to a higher id than those kept
      std::pop_heap(kept.begin(), kept.end(), Likelier);
      kept.back() = {logits[i], static_cast<TokenId>(i)};
      std::push_heap(kept.begin(), kept.end(), Likelier);
      least = kept.front().logit;
    }
  }
  std::sort(kept.begin(), kept.end(), Likelier);
  return kept;
}

std::vector<TokenLogit> TokensAbove(std::span<const float> logits, float least, TokenId excluded) {
  constexpr size_t kPiece = 1024;
  const KernelTable& kernels = Kernels();
  std::array<uint32_t, kPiece> places;  // NOLINT(*-member-init): written before it is read
  std::vector<TokenLogit> kept;
  kept.reserve(kPiece / 2);
  for (size_t begin = 0; begin < logits.size(); begin += kPiece) {
    const std::span<const float> piece =
        logits.subspan(begin).first(std::min(kPiece, logits.size() - begin));
    const size_t found = kernels.find_above(piece.data(), piece.size(), least, places.data());
    for (const uint32_t place : std::span(places).first(found)) {
      const auto token = static_cast<TokenId>(begin + place);
      if (token != excluded) {
        kept.push_back({piece[place], token});
      }
    }
  }
  return kept;
}

void SortByLikelihood(float low, float high, std::vector<TokenLogit>* tokens) {
  constexpr size_t kFew = 24;
  const float spread = high - low;
  if (tokens->size() > kFew && spread >= kMinSpread && std::isfinite(spread)) {
    DivideByLogit(low, high, tokens);
  } else {
    std::sort(tokens->begin(), tokens->end(), Likelier);
  }
}

}  // namespace ruvd::inference
