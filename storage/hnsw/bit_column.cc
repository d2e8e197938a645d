// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/bit_column.h"

#include "base/status.h"

namespace ruvd::storage::hnsw {

static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t) &&
              std::atomic<uint64_t>::is_always_lock_free);

absl::Status BitColumn::Reserve(size_t nodes, size_t bits) {
  RUVD_CHECK(bits >= 1 && bits <= kWordBits);
  bits_ = bits;
  return region_.Reserve(WordsFor(nodes), bits * sizeof(uint64_t));
}

void BitColumn::Set(uint32_t node, uint64_t value) {
  std::atomic<uint64_t>* words = Words(node / kWordBits);
  const uint64_t bit = uint64_t{1} << (node % kWordBits);
  for (size_t b = 0; b < bits_; ++b) {
    const uint64_t old = words[b].load(std::memory_order_relaxed);
    words[b].store(((value >> b) & 1U) != 0 ? old | bit : old & ~bit, std::memory_order_release);
  }
}

uint64_t BitColumn::Get(uint32_t node) const {
  uint64_t value = 0;
  for (size_t b = 0; b < bits_; ++b) {
    value |= ((Plane(node / kWordBits, b) >> (node % kWordBits)) & 1U) << b;
  }
  return value;
}

uint64_t BitColumn::Equal(size_t word, uint64_t value, uint64_t mask) const {
  for (size_t b = bits_; b-- > 0 && mask != 0;) {
    const uint64_t plane = Plane(word, b);
    mask &= ((value >> b) & 1U) != 0 ? plane : ~plane;
  }
  return mask;
}

uint64_t BitColumn::AtLeast(size_t word, uint64_t value, uint64_t mask) const {
  uint64_t greater = 0;
  for (size_t b = bits_; b-- > 0 && mask != 0;) {
    const uint64_t plane = Plane(word, b);
    if (((value >> b) & 1U) != 0) {
      mask &= plane;
    } else {
      greater |= mask & plane;
      mask &= ~plane;
    }
  }
  return greater | mask;
}

uint64_t BitColumn::AtMost(size_t word, uint64_t value, uint64_t mask) const {
  uint64_t less = 0;
  for (size_t b = bits_; b-- > 0 && mask != 0;) {
    const uint64_t plane = Plane(word, b);
    if (((value >> b) & 1U) != 0) {
      less |= mask & ~plane;
      mask &= plane;
    } else {
      mask &= ~plane;
    }
  }
  return less | mask;
}

}  // namespace ruvd::storage::hnsw
