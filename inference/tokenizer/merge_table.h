// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/keyed_hash.h"

namespace ruvd::inference {

// A table of which neighbouring symbols merge into which, and in what order: the pair with the
// lowest rank first, and the leftmost of equal ranks. Both tokenizer families are such tables
// (bpe.h, sentence_piece.h). Thread-safe once filled.
class MergeTable {
 public:
  using Symbol = uint32_t;
  struct Merge {
    uint32_t rank;
    Symbol result;
  };
  // The `forbidden` symbol of Apply when every merge is allowed.
  static constexpr Symbol kNothing = UINT32_MAX;

  // Memory that `Apply` reuses from word to word.
  class Workspace {
   private:
    friend class MergeTable;
    struct Piece {
      Symbol symbol;
      int previous;
      int next;
      bool gone;
    };
    struct Candidate {
      uint32_t rank;
      int left;
      int right;
      Symbol left_symbol;
      Symbol right_symbol;
      Symbol result;
    };
    std::vector<Merge> pairs_;  // for short words
    std::vector<Piece> pieces_;
    std::vector<Candidate> queue_;
  };

  // Adds a merge. If the pair already has one, the first is kept. Symbols must be below kNothing.
  void Add(Symbol left, Symbol right, Merge merge);
  // Returns null if the two do not merge.
  const Merge* Find(Symbol left, Symbol right) const {
    if (slots_.empty()) {
      return nullptr;
    }
    const uint64_t key = Key(left, right);
    for (size_t at = Place(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) {
        return &slots_[at].merge;
      }
      if (slots_[at].key == kFree) {
        return nullptr;
      }
    }
  }
  // Merges the symbols of a word until no pair is left, in O(n log n). A merge that would result in
  // `forbidden` is skipped.
  void Apply(std::vector<Symbol>* symbols, Workspace* workspace, Symbol forbidden = kNothing) const;

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;
    Merge merge{};
  };
  static uint64_t Key(Symbol left, Symbol right) { return (uint64_t{left} << 32) | right; }
  // Multiply-shift by a secret odd number (Dietzfelbinger et al. 1997). This hash is universal, so
  // chosen pairs collide only by chance. The upper bits are used.
  size_t Place(uint64_t key) const { return (key * multiplier_) >> shift_; }
  void Grow();
  void ApplyToShort(std::vector<Symbol>* symbols, Workspace* workspace, Symbol forbidden) const;
  void ApplyToLong(std::vector<Symbol>* symbols, Workspace* workspace, Symbol forbidden) const;
  void Offer(int left, int right, Workspace* workspace, Symbol forbidden) const;

  uint64_t multiplier_ = ProcessHashKey().low | 1;
  int shift_ = 63;  // 64 - log2(number of slots)
  // Open addressing; at most three quarters of the slots are full.
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t used_ = 0;
};

}  // namespace ruvd::inference
