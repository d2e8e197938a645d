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

// One committed position, as the sampler saw it. Borrows from its trail.
struct CommittedPosition {
  int position = 0;  // from the first generated token
  TokenId token = 0;
  // Of `token`, under the softmax at temperature 1 before penalties.
  float probability = 0;
  std::span<const float> hidden;                 // final hidden state that predicted it
  std::span<const TokenProbability> candidates;  // of the same distribution, in no order
};

// What a completion committed: hidden state and candidates of every position. A position that is
// committed again after remasking replaces what was there. Not thread-safe.
class CommitTrail {
 public:
  CommitTrail() = default;
  // `width`: of the hidden states.
  explicit CommitTrail(int width) : width_(static_cast<size_t>(width)) {}

  // Copies `hidden` (width values) and the first limits::kMaxCandidates of `candidates`.
  void Add(int position, TokenId token, float probability, std::span<const float> hidden,
           std::span<const TokenProbability> candidates);
  // Makes room for so many positions, so that adding them allocates nothing.
  void Reserve(size_t positions);
  // Drops the positions from `end` on, and the memory they took.
  void Truncate(int end);

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  int width() const { return static_cast<int>(width_); }
  // By position, ascending. Valid until the next change.
  std::vector<CommittedPosition> Positions() const;
  // Memory held.
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
