// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <map>
#include <span>
#include <vector>

#include "inference/sampler/distribution.h"

namespace ruvd::inference {

// How far the prediction of a position moved since it was last looked at: KL(now || before) over
// the `top` likeliest tokens of before and all others taken together. That is at most the full
// divergence (data-processing inequality) and needs `top` numbers a position instead of a
// vocabulary. Not thread-safe.
class StabilityTracker {
 public:
  explicit StabilityTracker(size_t top) : top_(top) {}
  // Infinite for a position seen for the first time.
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
