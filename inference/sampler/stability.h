// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <span>
#include <vector>

#include "inference/sampler/distribution.h"

namespace ruvd::inference {

// Measures how far the prediction at a position moved since the previous look: KL(now || before)
// over the `top` likeliest tokens of the previous distribution plus one entry for all other tokens.
// This value is at most the full divergence (data-processing inequality), and it needs `top`
// numbers per position instead of a whole vocabulary. Not thread-safe.
class StabilityTracker {
 public:
  explicit StabilityTracker(size_t top) : top_(top) {}
  // Returns infinity for a position seen for the first time.
  float Movement(int position, std::span<const float> logits, const RowSummary& summary);
  void Forget() { before_.clear(); }

 private:
  struct Entry {
    TokenId token;
    float probability;
  };

  size_t top_;
  std::map<int, std::vector<Entry>> before_;
};

}  // namespace ruvd::inference
