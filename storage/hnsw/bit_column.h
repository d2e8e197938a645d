// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "storage/hnsw/row_region.h"

namespace ruvd::storage::hnsw {

inline constexpr size_t kWordBits = 64;

inline constexpr size_t WordsFor(size_t nodes) {
  return (nodes + kWordBits - 1) / kWordBits;
}

// One unsigned number of up to 64 bits for each node, stored by bit: word w, bit plane b holds bit
// b of the numbers of nodes 64 w to 64 w + 63 (the bit-sliced index of O'Neil and Quass, "Improved
// query performance with variant indexes", SIGMOD 1997). Equality and ranges over 64 nodes cost one
// AND for each bit, and usually far fewer: a comparison ends as soon as no node is undecided.
// One writer; readers may read at the same time and see each bit old or new.
class BitColumn {
 public:
  absl::Status Reserve(size_t nodes, size_t bits);
  absl::Status Grow(size_t nodes) { return region_.Grow(WordsFor(nodes)); }

  void Set(uint32_t node, uint64_t value);
  uint64_t Get(uint32_t node) const;

  // Returns bit plane b of 64 nodes.
  uint64_t Plane(size_t word, size_t b) const {
    return Words(word)[b].load(std::memory_order_acquire);
  }
  // Return the nodes of `mask` (one bit for each of the 64) whose number is equal to, at least or
  // at most `value`.
  uint64_t Equal(size_t word, uint64_t value, uint64_t mask) const;
  uint64_t AtLeast(size_t word, uint64_t value, uint64_t mask) const;
  uint64_t AtMost(size_t word, uint64_t value, uint64_t mask) const;

  size_t bits() const { return bits_; }
  size_t committed_bytes() const { return region_.committed_bytes(); }

 private:
  std::atomic<uint64_t>* Words(size_t word) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(region_.Row(word));
  }

  size_t bits_ = 0;
  RowRegion region_;  // a row is the planes of 64 nodes
};

// A column of one bit.
class BitSet {
 public:
  absl::Status Reserve(size_t nodes) { return column_.Reserve(nodes, 1); }
  absl::Status Grow(size_t nodes) { return column_.Grow(nodes); }
  void Set(uint32_t node, bool value) { column_.Set(node, value ? 1 : 0); }
  bool Get(uint32_t node) const {
    return ((Word(node / kWordBits) >> (node % kWordBits)) & 1U) != 0;
  }
  uint64_t Word(size_t word) const { return column_.Plane(word, 0); }
  size_t committed_bytes() const { return column_.committed_bytes(); }

 private:
  BitColumn column_;
};

}  // namespace ruvd::storage::hnsw
