// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ruvd::storage::hnsw {

// Remembers the newest nodes that took the place of others (of rows that were replaced or moved) or
// whose attributes changed. A search that runs at the same time may have visited the new place too
// early and the old one too late, so it looks here before it answers. One writer and many readers
// use it without locks.
class RecentRows {
 public:
  static constexpr size_t kKept = 4096;

  uint64_t count() const { return count_.load(std::memory_order_acquire); }

  // The writer calls it before it hides the old place from searches.
  void Add(uint32_t node) {
    const uint64_t n = count_.load(std::memory_order_relaxed);
    nodes_[n % kKept].store(node, std::memory_order_release);
    count_.store(n + 1, std::memory_order_release);
  }

  // Appends the nodes from number `begin` to before number `end`, both values of count(), to `out`.
  // Returns false when some of them are forgotten.
  bool Get(uint64_t begin, uint64_t end, std::vector<uint32_t>* out) const {
    if (end - begin >= kKept) {
      return false;
    }
    for (uint64_t i = begin; i < end; ++i) {
      out->push_back(nodes_[i % kKept].load(std::memory_order_acquire));
    }
    // Number i + kKept overwrites number i when the count is i + kKept.
    return count() - begin < kKept;
  }

 private:
  std::array<std::atomic<uint32_t>, kKept> nodes_{};
  std::atomic<uint64_t> count_{0};
};

}  // namespace ruvd::storage::hnsw
