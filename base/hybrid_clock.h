// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <compare>
#include <cstdint>

#include "base/clock.h"

namespace ruvd {

// A stamp that orders the changes of all nodes: wall time in milliseconds, then a counter for
// changes within one millisecond. Zero means no stamp.
struct HybridTime {
  uint64_t packed = 0;  // milliseconds since 1970 (48 bits), counter (16 bits)

  int64_t wall_ms() const { return static_cast<int64_t>(packed >> 16); }
  explicit operator bool() const { return packed != 0; }
  auto operator<=>(const HybridTime&) const = default;
};

// A hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): its stamps stay near
// the wall clock, and each is later than every stamp that it gave or saw before, even if the wall
// clock steps back. Thread-safe.
class HybridClock {
 public:
  // `wall` is borrowed and outlives this.
  explicit HybridClock(const Clock& wall) : wall_(wall) {}

  HybridTime Now();
  // Makes all later stamps later than `seen`, a stamp from another node or from the store.
  void Observe(HybridTime seen);
  // Returns the latest stamp that was given or seen.
  HybridTime last() const { return {last_.load()}; }
  // Returns the time in milliseconds since 1970, for dates that are compared with wall time. This
  // is the wall clock's time, with one exception: if the latest stamp is ahead of the wall clock,
  // and the wall clock was never set or is behind by at most MonotonicTimestamps::kMaxBridge, it is
  // the time of the stamp. A stamp further ahead came from a wrong clock and is ignored.
  int64_t WallMillis() const;

 private:
  const Clock& wall_;
  std::atomic<uint64_t> last_{0};
};

}  // namespace ruvd
