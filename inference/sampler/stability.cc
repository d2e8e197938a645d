// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/stability.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ruvd::inference {
namespace {

// Returns p log(p / q); very small masses count as zero.
double Term(double p, double q) {
  constexpr double kFloor = 1e-9;
  return p <= kFloor ? 0 : p * std::log(p / std::max(q, kFloor));
}

}  // namespace

float StabilityTracker::Movement(int position, std::span<const float> logits,
                                 const RowSummary& summary) {
  std::vector<Entry>& before = before_[position];
  double divergence = std::numeric_limits<double>::infinity();
  if (!before.empty()) {
    divergence = 0;
    double rest_now = 1;
    double rest_before = 1;
    for (const Entry& entry : before) {
      const double p = summary.Probability(logits[entry.token]);
      divergence += Term(p, entry.probability);
      rest_now -= p;
      rest_before -= entry.probability;
    }
    divergence += Term(std::max(0.0, rest_now), rest_before);
  }
  before.clear();
  constexpr float kAny = -std::numeric_limits<float>::infinity();
  for (const TokenLogit& entry : TopTokens(logits, top_, kAny, kNoToken)) {
    before.push_back({entry.token, summary.Probability(entry.logit)});
  }
  return static_cast<float>(divergence);
}

}  // namespace ruvd::inference
