// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "inference/tokenizer/tokenizer.h"

namespace ruvd::inference {

struct TokenProbability {
  TokenId token = 0;
  float probability = 0;
};

// One committed position, as the sampler saw it. The spans borrow from the trail.
struct CommittedPosition {
  int position = 0;  // counted from the first generated token
  TokenId token = 0;
  // Probability of `token` under the softmax at temperature 1 before penalties
  float probability = 0;
  std::span<const float> hidden;                 // final hidden state that predicted it
  std::span<const TokenProbability> candidates;  // from the same distribution, unordered
};

// The positions that a completion committed, with their hidden states and candidates. A position
// that is committed again after remasking replaces its earlier entry. Not thread-safe.
class CommitTrail {
 public:
  CommitTrail() = default;
  // `width` is the number of values of a hidden state.
  explicit CommitTrail(int width) : width_(static_cast<size_t>(width)) {}

  // Copies `hidden` (width values) and the first limits::kMaxCandidates of `candidates`.
  void Add(int position, TokenId token, float probability, std::span<const float> hidden,
           std::span<const TokenProbability> candidates);
  // Reserves memory for that many positions, so that adding them allocates nothing.
  void Reserve(size_t positions);
  // Removes the positions from `end` on, and frees their memory.
  void Truncate(int end);

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  int width() const { return static_cast<int>(width_); }
  // Returns the positions in ascending order. The result is valid until the next change.
  std::vector<CommittedPosition> Positions() const;
  // Memory held, in bytes
  size_t bytes() const;

 private:
  struct Entry {
    int position = 0;
    TokenId token = 0;
    float probability = 0;
    uint32_t candidates = 0;
  };

  size_t width_ = 0;
  std::vector<int32_t> entry_of_;             // by position; -1: none
  std::vector<Entry> entries_;                // in the order of their first commits
  std::vector<float> hidden_;                 // entries x width
  std::vector<TokenProbability> candidates_;  // entries x kMaxCandidates
};

}  // namespace ruvd::inference
