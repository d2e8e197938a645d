// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ruvd::storage::hnsw {

// Records which nodes one search has seen. A mark counts only while it equals the current epoch, so
// starting a search increments a counter instead of clearing the marks. Not thread-safe; one search
// uses it at a time.
class VisitedMarks {
 public:
  void Begin(size_t nodes) {
    if (marks_.size() < nodes) {
      marks_.resize(nodes + nodes / 8, 0);
    } else if (marks_.size() > kShrinkAbove && marks_.size() / 4 > nodes) {
      marks_ = std::vector<uint16_t>(nodes + nodes / 8, 0);  // the index was larger before
    }
    if (++epoch_ == 0) {  // wrapped: old marks could look new
      std::fill(marks_.begin(), marks_.end(), 0);
      epoch_ = 1;
    }
  }
  // Returns true for the first visit since Begin. Nodes that were added after Begin count as
  // visited.
  bool Visit(uint32_t node) {
    return node < marks_.size() && std::exchange(marks_[node], epoch_) != epoch_;
  }
  size_t bytes() const { return marks_.capacity() * sizeof(uint16_t); }

 private:
  static constexpr size_t kShrinkAbove = 1 << 16;
  std::vector<uint16_t> marks_;
  uint16_t epoch_ = 0;
};

}  // namespace ruvd::storage::hnsw
