// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace ruvd::hnsw {

// Which nodes one search has seen. Starting a search costs a counter, not a clearing: a mark counts
// only while it equals the current epoch. Not thread-safe; one search uses it at a time.
class VisitedMarks {
 public:
  void Begin(size_t nodes) {
    if (marks_.size() < nodes) {
      marks_.resize(nodes, 0);
    }
    if (++epoch_ == 0) {  // wrapped: old marks could look new
      std::fill(marks_.begin(), marks_.end(), 0);
      epoch_ = 1;
    }
  }
  // True for the first visit since Begin.
  bool Visit(uint32_t node) { return std::exchange(marks_[node], epoch_) != epoch_; }

 private:
  std::vector<uint16_t> marks_;
  uint16_t epoch_ = 0;
};

// Lends marks to concurrent searches; holds as many as ever ran at once. Thread-safe.
class VisitedPool {
 public:
  std::unique_ptr<VisitedMarks> Take() {
    MutexLock lock(mutex_);
    if (free_.empty()) {
      return std::make_unique<VisitedMarks>();
    }
    std::unique_ptr<VisitedMarks> marks = std::move(free_.back());
    free_.pop_back();
    return marks;
  }
  void Give(std::unique_ptr<VisitedMarks> marks) {
    MutexLock lock(mutex_);
    free_.push_back(std::move(marks));
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<VisitedMarks>> free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::hnsw
