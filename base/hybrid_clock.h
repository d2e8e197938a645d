// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <compare>
#include <cstdint>

#include "base/clock.h"

namespace ruvd {

// A stamp that orders changes of all nodes: wall time in milliseconds, and a counter for those of
// the same millisecond. Zero: no stamp.
struct HybridTime {
  uint64_t packed = 0;  // milliseconds since 1970 (48 bits), counter (16 bits)

  int64_t wall_ms() const { return static_cast<int64_t>(packed >> 16); }
  explicit operator bool() const { return packed != 0; }
  auto operator<=>(const HybridTime&) const = default;
};

// A hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014): stamps near the wall
// clock, each later than every stamp given or seen before, whatever the wall clock does.
// Thread-safe.
class HybridClock {
 public:
  // `wall` is borrowed and outlives this.
  explicit HybridClock(const Clock& wall) : wall_(wall) {}

  HybridTime Now();
  // Later stamps are later than `seen`.
  void Observe(HybridTime seen);
  // The latest stamp given or seen.
  HybridTime last() const { return {last_.load()}; }
  // What time it is, in milliseconds since 1970, for dates that are compared with the wall clock:
  // it says so itself, unless it was never set or is behind the latest stamp by no more than
  // OrderedTime::kMaxBridge, which the stamp says then. A stamp further ahead was of a wrong clock.
  int64_t WallMillis() const;

 private:
  const Clock& wall_;
  std::atomic<uint64_t> last_{0};
};

}  // namespace ruvd
