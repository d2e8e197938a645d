// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/distribution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ruvd {
namespace {

// Independent partial sums: they let the compiler vectorise and keep rounding errors small.
constexpr size_t kLanes = 16;

inline float Exp(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to the nearest integer
  const float clamped = x < -87.0F ? -87.0F : x;
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
  return x < -87.0F ? 0.0F : p * std::bit_cast<float>(exponent);
}

struct TopTwo {
  TokenId best = 0;
  float first = -std::numeric_limits<float>::infinity();
  float second = -std::numeric_limits<float>::infinity();
};

TopTwo FindTopTwo(std::span<const float> logits, TokenId excluded) {
  TopTwo top;
  top.best = excluded == 0 ? 1 : 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > top.second) || static_cast<TokenId>(i) == excluded) {
      continue;
    }
    if (logits[i] > top.first) {
      top.second = top.first;
      top.first = logits[i];
      top.best = static_cast<TokenId>(i);
    } else {
      top.second = logits[i];
    }
  }
  return top;
}

struct Sums {
  double mass = 0;    // sum of e = exp(logit - maximum)
  double energy = 0;  // sum of (logit - maximum) * e
};

Sums SumExponentials(std::span<const float> logits, float maximum) {
  std::array<float, kLanes> mass{};
  std::array<float, kLanes> energy{};
  const size_t whole = logits.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      // The clamp keeps -inf logits from making 0 * -inf.
      const float x = std::max(logits[i + lane] - maximum, -100.0F);
      const float e = Exp(x);
      mass[lane] += e;
      energy[lane] += x * e;
    }
  }
  Sums sums;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    sums.mass += mass[lane];
    sums.energy += energy[lane];
  }
  for (size_t i = whole; i < logits.size(); ++i) {
    const float x = std::max(logits[i] - maximum, -100.0F);
    const float e = Exp(x);
    sums.mass += e;
    sums.energy += static_cast<double>(x) * e;
  }
  return sums;
}

}  // namespace

float ExpNonPositive(float x) {
  return Exp(x);
}

float RowSummary::Probability(float logit) const {
  return std::exp(logit - maximum - log_mass);
}

RowSummary Summarise(std::span<const float> logits, TokenId excluded) {
  const TopTwo top = FindTopTwo(logits, excluded);
  RowSummary summary;
  summary.best = top.best;
  summary.maximum = top.first;
  if (excluded < logits.size()) {
    summary.maximum = std::max(summary.maximum, logits[excluded]);
  }
  const Sums sums = SumExponentials(logits, summary.maximum);
  summary.log_mass = static_cast<float>(std::log(sums.mass));
  summary.margin = summary.Probability(top.first) - summary.Probability(top.second);
  summary.entropy =
      static_cast<float>(std::max(0.0, std::log(sums.mass) - sums.energy / sums.mass));
  return summary;
}

std::vector<TokenLogit> LikeliestTokens(std::span<const float> logits, size_t count, float least,
                                        TokenId excluded) {
  const auto likelier = [](const TokenLogit& a, const TokenLogit& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  std::vector<TokenLogit> kept;  // once full, a heap with the least likely one in front
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] >= least) || static_cast<TokenId>(i) == excluded) {
      continue;
    }
    if (count == 0 || kept.size() < count) {
      kept.push_back({logits[i], static_cast<TokenId>(i)});
      if (kept.size() == count) {
        std::make_heap(kept.begin(), kept.end(), likelier);
        least = kept.front().logit;
      }
    } else if (logits[i] > least) {  // an equal one has a higher id than those kept
      std::pop_heap(kept.begin(), kept.end(), likelier);
      kept.back() = {logits[i], static_cast<TokenId>(i)};
      std::push_heap(kept.begin(), kept.end(), likelier);
      least = kept.front().logit;
    }
  }
  std::sort(kept.begin(), kept.end(), likelier);
  return kept;
}

}  // namespace ruvd
