// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/hybrid_clock.h"

#include <algorithm>

#include "base/steady_time.h"

namespace ruvd {
namespace {

constexpr int kCounterBits = 16;

}  // namespace

HybridTime HybridClock::Now() {
  const auto wall = static_cast<uint64_t>(std::max<int64_t>(wall_.WallMillis(), 0)) << kCounterBits;
  uint64_t last = last_.load();
  uint64_t next = 0;
  do {
    next = std::max(wall, last + 1);  // a full counter carries over into the milliseconds
  } while (!last_.compare_exchange_weak(last, next));
  return {next};
}

int64_t HybridClock::WallMillis() const {
  const int64_t wall = wall_.WallMillis();
  const int64_t ahead = last().wall_ms() - wall;
  const bool bridged = wall < MonotonicTimestamps::kFirstPossibleMs ||
                       ahead <= MonotonicTimestamps::kMaxBridge.count();
  return ahead > 0 && bridged ? wall + ahead : wall;
}

void HybridClock::Observe(HybridTime seen) {
  uint64_t last = last_.load();
  while (last < seen.packed && !last_.compare_exchange_weak(last, seen.packed)) {
  }
}

}  // namespace ruvd
