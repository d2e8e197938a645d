// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/string_map.h"

namespace ruvd {

// Byte-pair merging (Sennrich et al. 2016, arXiv 1508.07909) with ranked merges: the pair of lowest
// rank merges first, the leftmost on ties. Immutable and thread-safe.
class BytePairMerges {
 public:
  // `ids` maps the raw bytes of each token to its id. `merges` are "left right" in GPT-2's
  // alphabet, most important first. TOKENIZER_INVALID for a line that is none.
  static absl::StatusOr<BytePairMerges> Create(const StringMap<uint32_t>& ids,
                                               std::span<const std::string> merges);

  // Appends the ids of a word in O(n log n). A merged piece that is not a token falls back to the
  // tokens of its bytes; a byte without a token is left out.
  void Encode(std::string_view word, std::vector<uint32_t>* out) const;

 private:
  // Merging works on interned byte strings: the 256 bytes first, then what merges speak of.
  using SymbolId = uint32_t;
  static constexpr uint32_t kNoToken = UINT32_MAX;
  struct Merge {
    uint32_t rank;
    SymbolId result;
  };
  static uint64_t PairKey(SymbolId left, SymbolId right) { return (uint64_t{left} << 32) | right; }
  const Merge* Find(SymbolId left, SymbolId right) const;

  std::vector<uint32_t> tokens_;  // by symbol; kNoToken where it is not in the vocabulary
  std::unordered_map<uint64_t, Merge> merges_;
};

}  // namespace ruvd
