// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/keyed_hash.h"

namespace ruvd::inference {

// Which neighbouring symbols merge into which, and in what order: the pair of lowest rank first,
// the leftmost on ties. Both families of tokenizers are such tables (bpe.h, sentence_piece.h).
// Thread-safe once filled.
class MergeTable {
 public:
  using Symbol = uint32_t;
  struct Merge {
    uint32_t rank;
    Symbol result;
  };
  // What a merge must not result in, where nothing is forbidden.
  static constexpr Symbol kNothing = UINT32_MAX;

  // Memory that `Apply` uses again from word to word.
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
    std::vector<Merge> pairs_;  // short words
    std::vector<Piece> pieces_;
    std::vector<Candidate> queue_;
  };

  // Keeps the first merge of a pair. Symbols must be below kNothing.
  void Add(Symbol left, Symbol right, Merge merge);
  // Null where the two do not merge.
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
  // `forbidden` is not made.
  void Apply(std::vector<Symbol>* symbols, Workspace* workspace, Symbol forbidden = kNothing) const;

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;
    Merge merge{};
  };
  static uint64_t Key(Symbol left, Symbol right) { return (uint64_t{left} << 32) | right; }
  // Multiply-shift by a secret odd number (Dietzfelbinger et al. 1997): universal, so no choice of
  // pairs makes them meet but by chance. Upper bits count.
  size_t Place(uint64_t key) const { return (key * multiplier_) >> shift_; }
  void Grow();
  void ApplyToShort(std::vector<Symbol>* symbols, Workspace* workspace, Symbol forbidden) const;
  void ApplyToLong(std::vector<Symbol>* symbols, Workspace* workspace, Symbol forbidden) const;
  void Offer(int left, int right, Workspace* workspace, Symbol forbidden) const;

  uint64_t multiplier_ = ProcessHashKey().low | 1;
  int shift_ = 63;  // 64 - log2 of the slots
  // Open addressing, at most three quarters full.
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t used_ = 0;
};

}  // namespace ruvd::inference
