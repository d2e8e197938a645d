// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstdint>

namespace ruvd {

// What became of one limit (LimitUse), counted by several threads. Thread-safe.
class LimitCounter {
 public:
  void SetUsed(uint64_t used) { used_.store(used, std::memory_order_relaxed); }
  void Refuse() { refused_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace ruvd
