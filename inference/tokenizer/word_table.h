// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/keyed_hash.h"
#include "inference/tokenizer/piece_table.h"

namespace ruvd::inference {

// A hash table from words to numbers that keeps its words in one piece of memory. The words may
// come from an untrusted file, so the hash is keyed: see keyed_hash.h. Thread-safe once filled.
class WordTable {
 public:
  // Adds a word. Returns false, and changes nothing, if the word is already present.
  bool Add(std::string_view word, uint32_t value);
  // Gives a word this value, whether it is present or not. Returns the value that it had before.
  std::optional<uint32_t> Set(std::string_view word, uint32_t value);
  std::optional<uint32_t> Find(std::string_view word) const {
    if (slots_.empty()) {
      return std::nullopt;
    }
    const Slot& slot = slots_[Place(word, KeyedHash(word, key_))];
    return slot.entry == kFree ? std::nullopt : std::optional<uint32_t>(values_[slot.entry]);
  }
  size_t size() const { return values_.size(); }
  // Frees memory reserved for more words.
  void Shrink() {
    words_.Shrink();
    values_.shrink_to_fit();
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    uint32_t hash = 0;  // the upper half; the lower half chose the slot
    uint32_t entry = kFree;
  };
  // Returns the slot that holds the word, or the free slot where it would go.
  size_t Place(std::string_view word, uint64_t hash) const {
    const auto upper = static_cast<uint32_t>(hash >> 32);
    size_t at = hash & mask_;
    while (slots_[at].entry != kFree &&
           (slots_[at].hash != upper || words_[slots_[at].entry] != word)) {
      at = (at + 1) & mask_;
    }
    return at;
  }
  void Grow();

  HashKey key_ = ProcessHashKey();
  // Open addressing; at most three quarters of the slots are full.
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  PieceTable words_;  // by entry, as are their values
  std::vector<uint32_t> values_;
};

}  // namespace ruvd::inference
